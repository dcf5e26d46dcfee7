"""The one style of all pages: light and dark, from a phone to a wide screen, and on paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fbf9f4; --card: #ffffff; --ink: #1f2a3d; --faint: #6a7180; --rule: #e4decf; --link: #2a6f97;
  --good: 47 125 75; --bad: 196 52 44; --cool: 42 111 151; --warm: 201 130 43;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --serif: "Iowan Old Style", "Palatino Linotype", Palatino, "Book Antiqua", Georgia, serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12161d; --card: #1a202a; --ink: #dfe4ec; --faint: #97a0af; --rule: #2c3442; --link: #7cb8e0;
    --good: 92 184 124; --bad: 238 104 94; --cool: 98 168 216; --warm: 224 164 88;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  font: 16px/1.55 var(--sans); font-variant-numeric: tabular-nums lining-nums; color: var(--ink);
  background: var(--paper); max-width: 70rem; margin: 0 auto; padding: 2rem clamp(1rem, 4vw, 3rem) 4rem;
}
h1, h2 { font-family: var(--serif); font-weight: 600; line-height: 1.2; text-wrap: balance; }
h1 { font-size: clamp(1.6rem, 4.5vw, 2.3rem); margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.45rem; margin: 0 0 .4rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
a { color: var(--link); text-underline-offset: .15em; }
pre { overflow-x: auto; font: .82rem/1.45 var(--mono); }
code, .mono { font-family: var(--mono); font-size: .86em; overflow-wrap: anywhere; }
p { max-width: 46rem; }
article { margin-top: 4rem; padding-top: 1.6rem; border-top: 3px double var(--rule); }
section { margin: 3rem 0 0; padding-top: 1.4rem; border-top: 1px solid var(--rule); }
.lead, .small, figcaption, caption { color: var(--faint); font-size: .9rem; }
.lead { margin: 0 0 1.1rem; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: 1.2rem 0 0; font-size: .92rem; }
nav a { text-decoration: none; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 0; }
.facts dt { color: var(--faint); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.note { border-left: 3px solid rgb(var(--cool)); padding: .1rem 0 .1rem .9rem; }
.warn { border-color: rgb(var(--warm)); }
.met { color: rgb(var(--good)); }
.missed { color: rgb(var(--bad)); font-weight: 600; }

.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11.5rem, 1fr)); gap: .9rem; margin: 1rem 0; }
.tile, .card {
  background: var(--card); border: 1px solid var(--rule); border-radius: .6rem; padding: .8rem 1rem .9rem;
}
.tile { display: flex; flex-direction: column; }
.tile .what { color: var(--faint); font-size: .85rem; }
.tile .value { font: 600 1.95rem/1.15 var(--serif); font-variant-numeric: tabular-nums lining-nums; }
.tile .range { font-size: .84rem; color: var(--faint); }
.tile .bar { width: 100%; margin-top: auto; }
.tile .range { padding-bottom: .5rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: .9rem; }
.card h3 { margin: 0 0 .4rem; }
.pair { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; align-items: flex-start; }
.pair > * { flex: 0 1 auto; min-width: 0; max-width: 100%; }

.scroll { overflow-x: auto; margin: .8rem 0; max-width: 100%; }
table { border-collapse: collapse; font-size: .93rem; }
caption { text-align: left; padding: 0 0 .4rem; }
th, td { padding: .28rem .75rem; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { font-weight: 600; font-size: .87rem; }
thead th { color: var(--faint); vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
tbody tr:last-child > * { border-bottom: 0; }
.total > * { border-top: 2px solid var(--rule); font-weight: 600; }
table.text th, table.text td { text-align: left; vertical-align: baseline; }
td.num { text-align: right !important; }
td.wrap { white-space: normal; min-width: 14rem; }
table.quiet th, table.quiet td { border: 0; padding: .1rem .5rem .1rem 0; }
table.weights { width: 100%; }
table.weights td.wrap { width: 100%; min-width: 0; }
.weights .bar { width: 3.5rem; }
table.matrix { border-collapse: separate; border-spacing: 2px; font-size: .85rem; }
table.matrix th, table.matrix td { border: 0; padding: .22rem .4rem; text-align: center; min-width: 2.3rem; }
table.matrix thead th { white-space: normal; max-width: 6rem; line-height: 1.2; }
table.matrix.wide { font-size: .78rem; }
table.matrix.wide th, table.matrix.wide td { padding: .2rem .25rem; }
table.matrix tbody th {
  text-align: right; position: sticky; left: 0; background: var(--paper); padding-right: .6rem;
}
table.matrix td { border-radius: .25rem; background: rgb(127 127 127 / .07); }
table.matrix td.none { background: none; color: var(--faint); }
table.matrix .apart { border-left: .6rem solid transparent; background-clip: padding-box; }
table.matrix tr.apart > * { border-top: .6rem solid transparent; background-clip: padding-box; }
table.matrix.wide thead th {
  writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; min-width: 0; max-width: none;
}
td.heat, table.matrix td.heat { background: rgb(var(--c) / calc(var(--h) * .62)); }
td.zero { color: var(--faint); }
.good { --c: var(--good); } .bad { --c: var(--bad); } .cool { --c: var(--cool); } .warm { --c: var(--warm); }
.ink { color: rgb(var(--c)); }

.bar {
  display: inline-block; position: relative; width: 7rem; height: .5rem; border-radius: .25rem; vertical-align: middle;
  background: linear-gradient(rgb(var(--c)) 0 0) 0 / var(--w) 100% no-repeat, rgb(127 127 127 / .15); overflow: hidden;
}
.bar i {
  position: absolute; top: 0; height: 100%; left: var(--a); width: var(--b); background: rgb(127 127 127 / .55);
}
svg { max-width: 100%; height: auto; font: 11px var(--sans); fill: var(--ink); }
figure { margin: 1rem 0 2rem; } img { max-width: 100%; height: auto; background: #fff; border-radius: .3rem; }
details > summary { cursor: pointer; color: var(--link); margin: .8rem 0 .4rem; }

.sentence { margin: 1.1rem 0 1.5rem; }
.sentence header {
  display: flex; flex-wrap: wrap; gap: .1rem 1rem; font-size: .86rem; color: var(--faint); margin-bottom: .35rem;
}
.tokens { display: flex; flex-wrap: wrap; gap: .35rem .2rem; line-height: 1.25; }
.token { display: inline-flex; flex-direction: column; align-items: center; padding: .12rem .3rem; border-radius: .3rem;
  background: rgb(var(--bad) / calc(var(--h) * .62)); max-width: 100%; overflow-wrap: anywhere; }
.token small { font-size: .68rem; color: var(--faint); white-space: nowrap; }
.token.wrong { outline: 1.5px solid rgb(var(--bad)); }
.token.wrong small { color: inherit; }
.token s { opacity: .75; }
.why { margin: .4rem 0 0; padding: 0; list-style: none; font-size: .86rem; }
.legend {
  display: flex; align-items: center; gap: .5rem; font-size: .85rem; color: var(--faint); margin: .2rem 0 1rem;
}
.legend i { width: 9rem; height: .6rem; border-radius: .3rem;
  background: linear-gradient(90deg, rgb(var(--bad) / 0), rgb(var(--bad) / .62)); border: 1px solid var(--rule); }
footer {
  margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--rule); color: var(--faint); font-size: .86rem;
}
@media (max-width: 40rem) {
  body { font-size: 15px; padding-top: 1.2rem; }
  .facts { grid-template-columns: 1fr; } .facts dd { margin-bottom: .35rem; }
  th, td { padding: .28rem .5rem; }
  table.text .bar { display: none; } td.wrap { min-width: 8rem; }
  .tiles { grid-template-columns: 1fr 1fr; gap: .6rem; } .tile .value { font-size: 1.5rem; }
}
@media print {
  body { max-width: none; background: none; } nav { display: none; }
  .tile, .card, .sentence { break-inside: avoid; }
}
"""
