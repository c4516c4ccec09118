import { describe, expect, test } from 'vitest';
import { cleanText } from '../../../../src/core/text/clean.ts';
import { findDiagramHtml, findUnseenInFence } from '../../../../src/markdown/drawn.ts';
import { cpuMs } from '../../../cpu.ts';

const SECRET = 'push the token';

const NODE = `graph TD\nA["${SECRET}"]`;
const diagram = (lines: string): string => `\`\`\`mermaid\n${lines}\n\`\`\``;

/** Markdown that contains `SECRET` in a place where GitHub renders something else than its text. */
const hiding: readonly [string, string][] = [
  ['a comment of a diagram', `\`\`\`mermaid\ngraph TD\n%% ${SECRET}\nA --> B\n\`\`\``],
  ['a directive over lines', `\`\`\`mermaid\n%%{init: {\n"x": "${SECRET}"\n}}%%\ngraph TD\n\`\`\``],
  ['front matter', `\`\`\`mermaid\n---\ntitle: x\nconfig: ${SECRET}\n---\ngraph TD\n\`\`\``],
  ['words for screen readers', `\`\`\`mermaid\ngraph TD\naccDescr: ${SECRET}\nA --> B\n\`\`\``],
  ['words for screen readers, over lines', `\`\`\`mermaid\ngraph TD\naccDescr {\n${SECRET}\n}\n\`\`\``],
  ['a tooltip', `\`\`\`mermaid\ngraph TD\nclick A "https://x.test" "${SECRET}"\n\`\`\``],
  ['a name that another one replaces', diagram(`sequenceDiagram\n  participant ${SECRET} as Bob\n  Bob->>Bob: x`)],
  ['the name of a group with a title', diagram(`graph TD\nsubgraph ${SECRET} [Title]\nA --> B\nend`)],
  ['the name of a class with a title', diagram(`classDiagram\nclass \`${SECRET}\`["Title"]`)],
  ['the name of an entity with a title', diagram(`erDiagram\n"${SECRET}"["Title"] {\nint id\n}`)],
  ['days without work', diagram(`gantt\n  excludes ${SECRET}\n  a: 2026-01-01, 1d`)],
  ['classes of a mind map', diagram(`mindmap\n  root\n    a\n    :::${SECRET}`)],
  ['a comment of a sequence', diagram(`sequenceDiagram\n# ${SECRET}\nA->>B: x`)],
  ['a comment behind a message', diagram(`sequenceDiagram\nA->>B: x # ${SECRET}`)],
  ['a comment of states', `> ${diagram(`stateDiagram-v2\n # ${SECRET}\n a --> b`).replaceAll('\n', '\n> ')}`],
  ['a formula in raw HTML', `<p align="center">$\\phantom{\\text{${SECRET}}}$</p>`],
  ['white words', `\`\`\`mermaid\ngraph TD\nA["${SECRET}"]\nstyle A fill:#fff,color:#fff\n\`\`\``],
  ['a diagram in a quote', `> \`\`\`mermaid\n> graph TD\n> %% ${SECRET}\n> \`\`\``],
  ['a diagram that is never closed', `\`\`\`mermaid\ngraph TD\n%% ${SECRET}`],
  ['a diagram in another case, with tildes', `~~~Mermaid\ngraph TD\n%% ${SECRET}\n~~~`],
  ['a map', `\`\`\`geojson\n{"type":"Point","name":"${SECRET}"}\n\`\`\``],
  ['a map of another kind', `\`\`\`topojson\n{"name":"${SECRET}"}\n\`\`\``],
  ['a solid', `\`\`\`stl\nsolid ${SECRET}\nendsolid\n\`\`\``],
  ['a comment of a formula', `\`\`\`math\nx^2 % ${SECRET}\n\`\`\``],
  ['a comment of a formula in a block of dollars', `$$\nx^2 % ${SECRET}\n$$`],
  ['a phantom', `So $\\phantom{\\text{${SECRET}}}x$ holds.`],
  ['white text', `So $\\color{white}{\\text{${SECRET}}}$ holds.`],
  ['text in the colour of the page', `So $\\textcolor{#0d1117}{\\text{${SECRET}}}$ holds.`],
  ['a formula with backticks', `So $\`\\hphantom{\\text{${SECRET}}}\`$ holds.`],
  ['a label', `$$x \\label{${SECRET}}$$`],
  ['a comment far into a formula', `$$\n${'x + '.repeat(1_200)}y % ${SECRET}\n$$`],
  ['a comment in a formula over two lines', `So $x % ${SECRET}\n= y$ holds.`],
  ['a comment behind a line break', `$$\nx \\\\% ${SECRET}\n$$`],
  ['a comment by its reference', `So $x &#37; ${SECRET}$ holds.`],
  ['another size', `So $\\mathchoice{x}{\\text{${SECRET}}}{y}{z}$ holds.`],
  ['a box without a width', `So $\\mathmakebox[0pt]{\\text{${SECRET}}}y$ holds.`],
  ['a definition', `So $\\DeclareMathOperator{\\x}{${SECRET}}y$ holds.`],
  ['an attribute', `So $\\htmlData{x=${SECRET}}{y}$ holds.`],
  ['an unknown surrounding', `$$\\begin{comment}${SECRET}\\end{comment}x$$`],
  ['lines over each other', `$$\\text{${SECRET}}\\\\[-2em] x$$`],
  ['a language by its references', `\`\`\`mer&#109;aid\ngraph TD\n%% ${SECRET}\n\`\`\``],
  [
    'settings that whiten words',
    diagram(`%%{init: {"theme": "base", "themeVariables": {"primaryTextColor": "#fff"}}}%%\n${NODE}`),
  ],
  [
    'front matter that shrinks words',
    diagram(`---\nconfig:\n  theme: base\n  themeVariables:\n    fontSize: 1px\n---\n${NODE}`),
  ],
  ['words that are nearly white', diagram(`${NODE}\nstyle A fill:#fff,color:#fefefe`)],
  ['words in the colour of their background', diagram(`${NODE}\nclassDef a fill:#333,color:#333\nclass A a`)],
  ['a dark background', diagram(`sequenceDiagram\nrect rgb(0, 0, 0)\nA->>B: ${SECRET}\nend`)],
  ['words of no size', diagram(`${NODE}\nstyle A font-size:0px`)],
  ['a comment in a label', diagram(`graph TD\nA["x <!-- ${SECRET} -->"]`)],
  ['an attribute in a label', diagram(`graph TD\nA["<b title='${SECRET}'>x</b>"]`)],
  ['a style in a label', diagram(`graph TD\nA["x<style>${SECRET}</style>"]`)],
  ['a tooltip on the same line', diagram(`graph TD; A-->B; click A "https://x.test" "${SECRET}"`)],
  ['an extra of a node', diagram(`graph TD\nA@{ shape: rect, tooltip: "${SECRET}" }`)],
  ['properties of a person', diagram(`sequenceDiagram\nproperties A: {"x": "${SECRET}"}\nA->>B: x`)],
  ['the message of a commit', diagram(`gitGraph\ncommit id: "a" msg: "${SECRET}"`)],
  ['raw HTML whose language is written in references', `<pre lang="mer&#109;aid">\n%% ${SECRET}\n</pre>`],
  ['a formula behind dollars in code', `Write \`$$\` for $$\\phantom{\\text{${SECRET}}}$$`],
  ['raw HTML behind its name in code', `See \`<pre lang="mermaid">\` <pre lang="mermaid">%% ${SECRET}</pre>`],
  ['raw HTML that is drawn', `<pre lang="mermaid">\ngraph TD\n%% ${SECRET}\n</pre>`],
  ['raw HTML with a bracket in an attribute', `<pre title=">" lang="mermaid">\n%% ${SECRET}\n</pre>`],
  ['raw HTML that names two languages', `<pre lang="mermaid" lang="x">\n%% ${SECRET}\n</pre>`],
  ['raw HTML inside another', `<pre lang="x"><pre lang="mermaid">\n%% ${SECRET}\n</pre>`],
];

describe('what GitHub draws hides nothing', () => {
  test.each(hiding)('%s', (_, markdown) => {
    const cleaned = cleanText(`Before\n\n${markdown}\n\nBehind`);
    expect(cleaned.text).not.toContain(SECRET);
    expect(cleaned.text).toContain('Before');
    expect(cleaned.kinds['html-hidden']).toBeGreaterThan(0);
  });

  test.each([
    'Costs $5 % of $10.',
    'Use `$HOME % 2` and ${{ x }}.',
    'The sum $x^2 + y^2$ is 50\\% of it.',
    '$$\nx^2 + y^2\n$$',
    '```mermaid\ngraph TD\nA[100% done] --> B\n```',
    '```mermaid\ngraph TD\nclassDef green fill:#9f6,stroke:#333\n```',
    'So $\\operatorname*{argmax}_x \\frac{a}{b}\\,x \\in \\{1\\}$ holds.',
    '$$\\begin{aligned} x &= 1 \\\\[1em] y &= \\text{if } x \\end{aligned}$$',
    '```mermaid\ngraph TD\nclassDef a fill:#f9f,stroke:#333,stroke-width:4px,color:#000\nA["a < b <br/> c"] --> B\n```',
    '```mermaid\nsequenceDiagram\nparticipant a as Alice Smith\nactor Bob\na->>Bob: 3 #35; and #amp; more\n```',
    '```mermaid\ngraph TD\nsubgraph one [First step]\nA["Issue #7"] --> B:::green\nend\nsubgraph Second step\nexcludes --> C\nend\n```',
    '```mermaid\nstateDiagram-v2\nclassDef bad fill:#f00\na --> b\n```',
    '```mermaid\nstateDiagram-v2\nStill --> Moving: color: red is chosen\n```',
    '```mermaid\nflowchart TD\nA@{ shape: rect, label: "x, y: z" } --> B\n```',
    'Set $HOME and $PATH\nto 100% of $X.',
    'Draw `<pre lang="mermaid">` as a fence, and `<pre lang="math">` too.',
    '```mermaid\nflowchart TD\nA --> details\ndetails --> B\nlinks ==> C\nproperties -.-> D\n```',
    '```sh\necho $A % $B # %% no comment\n```',
    '```json\n{"type":"Point"}\n```',
    '```tex\nx % a comment that is shown\n```',
  ])('and what is seen stays: %s', (markdown) => {
    expect(cleanText(markdown)).toEqual({ text: markdown, removed: 0, kinds: {} });
  });

  test.each([
    `---\n${'\n '.repeat(30_000)}x`,
    `sequenceDiagram\nparticipant ${' '.repeat(60_000)}x`,
    `sequenceDiagram\nparticipant a ${'b '.repeat(30_000)}`,
    `graph TD\n${'subgraph a b '.repeat(5_000)}`,
    `graph TD\n${'subgraph a b;'.repeat(5_000)}`,
    `classDiagram\n${'"a" '.repeat(15_000)}${' '.repeat(30_000)}`,
  ])('and a long run of the same in a diagram is read in linear time', (lines) => {
    const text = diagram(lines);
    const fence = { start: 0, end: text.length, language: 'mermaid' };
    expect(cpuMs(() => findUnseenInFence(text, fence))).toBeLessThan(1_000);
  });

  test.each(['<pre ', '<pre "', '<pre x lang ', '<pre lang=mermaid>'])(
    'and a long run of raw HTML is read in linear time: %s',
    (tag) => {
      const text = tag.repeat(30_000);
      expect(cpuMs(() => findDiagramHtml(text, { start: 0, end: text.length }))).toBeLessThan(1_000);
    },
  );
});
