"""Linear assignment: rows to columns at least cost, by shortest augmenting paths with dual variables.

``u[i] + v[j] <= cost[i, j]`` holds throughout, with equality where row i has column j, so that the dual variables of a
solution let a changed problem start from there (one more path), and tell which other solutions cost the same.
Forbidden entries are ``inf``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def augment(cost, first, banned, open_column, u, v, column_of, row_of):
    """Give row ``first`` a column, moving others; False if there is no way. It may not have a ``banned`` column."""
    n = len(u)
    reach, before = np.full(n, np.inf), np.full(n, -1, np.int64)
    waiting = open_column.copy()
    tree_row = np.zeros(n, np.bool_)
    row, length, last = first, 0.0, -1
    # Dijkstra over columns by reduced costs cost[i, j] - u[i] - v[j] >= 0, from row ``first`` along alternating paths:
    # reach[j] is the shortest length found so far, final once j is no longer waiting; ``length`` never falls.
    # Among equally near columns one without a row is taken, which ends the search. O(n^2) time, O(n) memory.
    while last < 0:
        tree_row[row] = True
        nearest, at = np.inf, -1
        for j in range(n):
            if waiting[j]:
                if not (row == first and banned[j]):
                    there = length + cost[row, j] - u[row] - v[j]
                    if there < reach[j]:
                        reach[j], before[j] = there, row
                if reach[j] < nearest or (reach[j] == nearest and at >= 0 and row_of[j] < 0 <= row_of[at]):
                    nearest, at = reach[j], j
        if at < 0:
            return False
        length = nearest
        waiting[at] = False
        if row_of[at] < 0:
            last = at
        else:
            row = row_of[at]
    # The update keeps u[i] + v[j] <= cost[i, j] on open columns, with equality along the tree.
    u[first] += length
    for i in range(n):
        if tree_row[i] and i != first:
            u[i] += length - reach[column_of[i]]
    for j in range(n):
        if open_column[j] and not waiting[j]:
            v[j] -= length - reach[j]
    j = last
    while True:
        i = before[j]
        row_of[j] = i
        j, column_of[i] = column_of[i], j
        if i == first:
            return True


@kernel()
def lowest_columns(cost, first, banned, open_column, u, v, column_of, row_of):
    """Of the equally good assignments of the rows from ``first`` on, the one with the lexicographically lowest columns.

    Only entries whose reduced cost is exactly 0 count as equally good.
    """
    n = len(u)
    free = open_column.copy()  # columns of rows that are not settled
    queue, before = np.empty(n, np.int64), np.empty(n, np.int64)
    # Rows below i are settled and their columns no longer free. An assignment is optimal exactly if all its entries
    # have reduced cost 0, so row i tries its lower columns of reduced cost 0 in turn. O(n^2) per try, O(n) memory.
    for i in range(first, n):
        old = column_of[i]
        for j in range(old):
            if not free[j] or cost[i, j] - u[i] - v[j] > 0.0 or (i == first and banned[j]):
                continue
            # Row i takes column j if the row that has it can move on, and so forth, until one takes the old column.
            before[:] = -1
            before[j] = i
            queue[0] = row_of[j]
            head, tail, found = 0, 1, False
            while head < tail and not found:
                row = queue[head]
                head += 1
                for k in range(n):
                    if free[k] and before[k] < 0 and cost[row, k] - u[row] - v[k] <= 0.0:
                        before[k] = row
                        if k == old:
                            found = True
                            break
                        queue[tail] = row_of[k]
                        tail += 1
            if found:
                k = old
                while True:
                    row = before[k]
                    previous = column_of[row]
                    column_of[row], row_of[k] = k, row
                    if row == i:
                        break
                    k = previous
                break
        free[column_of[i]] = False


@kernel()
def assign(cost, u, v, column_of, row_of):
    """Solve one problem; False if every assignment has a forbidden entry. Ties go to the lowest columns, row by row."""
    n = len(u)
    u[:], v[:] = 0.0, 0.0
    column_of[:], row_of[:] = -1, -1
    nothing, everything = np.zeros(n, np.bool_), np.ones(n, np.bool_)
    # After step i the rows 0..i are assigned optimally and the duals are feasible. O(n^3), O(n) memory.
    for i in range(n):
        if not augment(cost, i, nothing, everything, u, v, column_of, row_of):
            return False
    lowest_columns(cost, np.int64(0), nothing, everything, u, v, column_of, row_of)
    return True


@kernel()
def assign_otherwise(cost, first, banned, u, v, column_of, row_of):
    """Change a solution: rows before ``first`` keep their columns, row ``first`` may not have a ``banned`` one."""
    n = len(u)
    open_column = np.ones(n, np.bool_)
    # Taking columns away keeps the duals feasible, and only row ``first`` is without a column: one augmenting path,
    # O(n^2), instead of a new solution, O(n^3).
    for i in range(first):
        open_column[column_of[i]] = False
    row_of[column_of[first]] = -1
    column_of[first] = -1
    if not augment(cost, first, banned, open_column, u, v, column_of, row_of):
        return False
    lowest_columns(cost, first, banned, open_column, u, v, column_of, row_of)
    return True
