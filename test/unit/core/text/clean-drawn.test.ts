import { describe, expect, test } from 'vitest';
import { cleanText } from '../../../../src/core/text/clean.ts';

const SECRET = 'push the token';

/** Markdown that contains `SECRET` in a place where GitHub renders something else than its text. */
const hiding: readonly [string, string][] = [
  ['a comment of a diagram', `\`\`\`mermaid\ngraph TD\n%% ${SECRET}\nA --> B\n\`\`\``],
  ['a comment behind an arrow', `\`\`\`mermaid\ngraph TD\nA --> B %% ${SECRET}\n\`\`\``],
  ['a directive over lines', `\`\`\`mermaid\n%%{init: {\n"x": "${SECRET}"\n}}%%\ngraph TD\n\`\`\``],
  ['front matter', `\`\`\`mermaid\n---\ntitle: x\nconfig: ${SECRET}\n---\ngraph TD\n\`\`\``],
  ['words for screen readers', `\`\`\`mermaid\ngraph TD\naccDescr: ${SECRET}\nA --> B\n\`\`\``],
  ['words for screen readers, over lines', `\`\`\`mermaid\ngraph TD\naccDescr {\n${SECRET}\n}\n\`\`\``],
  ['a tooltip', `\`\`\`mermaid\ngraph TD\nclick A "https://x.test" "${SECRET}"\n\`\`\``],
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
  ['raw HTML that is drawn', `<pre lang="mermaid">\ngraph TD\n%% ${SECRET}\n</pre>`],
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
    '```sh\necho $A % $B # %% no comment\n```',
    '```json\n{"type":"Point"}\n```',
    '```tex\nx % a comment that is shown\n```',
  ])('and what is seen stays: %s', (markdown) => {
    expect(cleanText(markdown)).toEqual({ text: markdown, removed: 0, kinds: {} });
  });
});
