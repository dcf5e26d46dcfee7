"""Recipes: whole experiments, each one readable file from data to table and figure.

A recipe is a file ``recipes/<name>.py`` in ``experiments/`` of the source checkout, or in the current folder. Its
docstring says what it does, the first line being the title, and its function ``run(context)`` does it::

    '''Sums: how fast they grow.'''

    def run(context):
        n = 10 if context.quick else 1000
        context.add_table("Sums", ["n", "sum"], [[n, sum(range(n))]])
        context.add_target("sum", sum(range(n)), ">=", n)

:func:`list_recipes` lists them, :func:`run_recipe` runs one, :class:`RecipeReport` is what comes out.
"""

from palmette.recipes.context import Context, Figure, Table, Verdict
from palmette.recipes.report import RecipeReport
from palmette.recipes.runner import Recipe, find_recipe, list_recipes, run_recipe

__all__ = [
    "Context",
    "Figure",
    "Recipe",
    "RecipeReport",
    "Table",
    "Verdict",
    "find_recipe",
    "list_recipes",
    "run_recipe",
]
