import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { filesIn, PAGES, read } from './documents/pages.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Expressions that a native engineer would not write, and their replacements. */
const STOP_LIST: readonly (readonly [RegExp, string])[] = [
  [/\bmend(?:s|ed|ing)?\b/i, 'fix, correct'],
  [/\banew\b/i, 'again'],
  [/\btold\b/i, 'reported'],
  [/\bcannot be told\b|\btells (?:no|whether)\b/i, 'cannot be determined, says'],
  [/\bfor ever\b/i, 'forever'],
  [/(?<!\bthere )\b(?:is|are|was|were) none\b/i, 'is not a …, does not count'],
  [/(?<!\bthere )\b(?:is|are|was) no (?!longer\b|more\b)(?=\w)/i, 'is not a …'],
  [/\bthat is no [a-z]+\b/i, 'that is not a …'],
  [/\bnobody whose\b/i, 'nobody with …'],
  [/(?:^|[.:;] |\| )Who(?:ever)? (?:has|may|asked|labelled|put|gave|can)\b[^?]*$/, 'the person who …, anyone who …'],
  [/\b(?:by|mentions|is|at) who (?!you\b)[a-z]+\b/, 'the person who …'],
  [/\bwho may not\b|\bwhich may not\b/i, 'without write access'],
  [/\bwhat is named above\b/i, 'the problems above'],
  [/\b(?:there|here)(?:of|by|in|with)\b|\bwhence\b/i, 'of it, with it'],
  [/\w meanwhile(?=[.:;,]|$)/i, 'in the meantime'],
  [/\bno further (?:one|task)\b/i, 'no more, not another'],
  [/\ball the same\b|\blikewise\b/i, 'anyway, the same way'],
  [/\b(?:is|are|was) to be\b|\bis to do\b/i, 'should be, must be'],
  [/\b(?:asks|asked|pleads) to have\b/i, 'asks for'],
  [/\bwants it\b/i, 'requires'],
  [/\bcounts? like\b|\bfor so many\b|\bin some (?:minutes|hours)\b/i, 'counts as, for this many, in a few'],
  [/\bdisturbance\b|\bcures?\b/i, 'an incident, a fix'],
  [/\bis of (?:the|no|another)\b|\bof (?:no|another) lane\b/i, 'belongs to'],
  [/\b(?:may|can) not be taken for\b|\bis taken for\b/i, 'counts as'],
  [/\b(?:takes?|put|puts) (?:it|the label)[^.]{0,30} (?:off|on again)\b|\bput on by\b/i, 'adds or removes the label'],
  [/\bany ?more\b/i, 'no longer'],
  [/\b(?:fails?|is failing) since\b/i, 'has been failing since'],
  [/\bwhen absent\b|\bits shape is\b/i, 'default: …, described by'],
  // Two sentences in journals are exempt.
  [/^(?!It (?:reported|deleted) ).*\bfiles of tasks\b/i, 'task files'],
  [/\b(?:take|taken|takes) out\b|\btake (?:it|them|one)(?: \w+)? out\b(?! of)/i, 'remove'],
  [/\bThere are none at all\b|\bholds? completion\b|\bas much as one\b|\bwent on\b/i, 'see design: plain words'],
  [/(?:^|[.:;] )See that \w/, 'make sure that'],
  [/\bstuck with\b|\bIn all:/, 'stuck on, in total'],
  [/\bto have something changed\b/i, 'to request a change'],
  [/(?<!was )\bended with (?:…|\d)/, 'exited with code …'],
  [/\bon a clean clone\b/i, 'in a clean clone'],
  [/\brun that is at work\b/i, 'a run in progress'],
  [/\bholds (?:NUL|control|the value|a file|files|no message)\b/i, 'contains'],
  [/\bsuch a thing\b|\bwhat stands in\b|\bstands? (?:in|on|at) (?!for\b)/i, 'is in'],
];

/** Phrases that no comment of the source has: clauses in place of sentences, translated words, and old names. */
const COMMENT_STOP_LIST: readonly (readonly [RegExp, string])[] = [
  [/^\/\*\* (?:What|Whether|Who|Whom|Whose|Where|How|Why|Which)\b(?![^.]*\?)/, 'a sentence: subject and verb first'],
  [/\banew\b/i, 'again'],
  [/\bfor ever\b/i, 'forever'],
  [/(?<!\bthere )\b(?:is|are|was|were) none\b/i, 'is not a …'],
  [/(?<!\bthere )\b(?:is|are|was) no (?!longer\b|more\b)(?=\w)/i, 'is not a …'],
  [/\ball the same\b|\blikewise\b/i, 'anyway, the same way'],
  [/\bany more\b(?! behind)/i, 'no longer'],
  [/\bof ours\b|\bof theirs\b/i, 'name the owner'],
  [/\b(?:by|mentions|at) who (?!you\b)[a-z]+\b/, 'the person who …'],
  [/\bcures?\b/i, 'fix'],
  [/\briver\b/i, 'run'],
  [/\bwhat stands in\b|\bsuch a thing\b/i, 'what is in'],
];

/** Returns the texts of the documents that people read, by path. */
function documents(): readonly (readonly [string, string])[] {
  return ['action.yml', ...PAGES, ...filesIn('templates'), ...filesIn('.github')].flatMap((path) =>
    read(path)
      .split('\n')
      .map((line, index) => [`${path}:${String(index + 1)}`, line] as const),
  );
}

/**
 * Returns the literals of the source with several words, which include all texts for people. `…` replaces inserted
 * values.
 */
function messages(): readonly (readonly [string, string])[] {
  return sources().flatMap(([path, source]) =>
    literalsIn(source)
      .filter(([, text]) => text.length > 12 && text.includes(' '))
      .map(([at, text]) => [`${path}:${String(source.getLineAndCharacterOfPosition(at).line + 1)}`, text] as const),
  );
}

/** Returns the parsed source files of the product, with their paths. */
function sources(): readonly (readonly [string, ts.SourceFile])[] {
  return readdirSync(join(root, 'src'), { recursive: true })
    .map((name) => `src/${String(name)}`)
    .filter((path) => path.endsWith('.ts'))
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      return [path, ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)] as const;
    });
}

function literalsIn(node: ts.Node): readonly (readonly [number, string])[] {
  const found: (readonly [number, string])[] = [];
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) found.push([node.end, node.text]);
  if (ts.isTemplateExpression(node)) {
    found.push([
      node.head.end,
      [node.head, ...node.templateSpans.map(({ literal }) => literal)].map((part) => part.text).join('…'),
    ]);
  }
  ts.forEachChild(node, (child) => {
    found.push(...literalsIn(child));
  });
  return found;
}

/** Comments of the source, each as one line. */
function comments(): readonly (readonly [string, string])[] {
  return sources().flatMap(([path, source]) => {
    const found = new Map<number, string>();
    const collect = (node: ts.Node): void => {
      for (const at of [node.pos, node.end])
        for (const { pos, end } of [
          ...(ts.getLeadingCommentRanges(source.text, at) ?? []),
          ...(ts.getTrailingCommentRanges(source.text, at) ?? []),
        ])
          found.set(pos, source.text.slice(pos, end));
      for (const child of node.getChildren(source)) collect(child);
    };
    collect(source);
    return [...found].map(
      ([at, text]) =>
        [
          `${path}:${String(source.getLineAndCharacterOfPosition(at).line + 1)}`,
          text
            .replaceAll(/\n\s*\*?\s*/g, ' ')
            .replace(/ ?\*?\/$/, '')
            .trim(),
        ] as const,
    );
  });
}

const texts = [...documents(), ...messages()];

test('public texts are found', () => {
  expect(texts.length).toBeGreaterThan(2000);
  const found = texts.map(([, text]) => text);
  expect(found).toContain('The agent said that the tests pass; they failed.');
  // The text of a next step, which is data.
  expect(found).toContain('the next scheduled run picks up what is left');
});

/** The texts for users: without the documents for contributors, the names of options, and the files of the state. */
const forUsers = texts
  .filter(([where]) => !/^(?:CONTRIBUTING|docs\/internals|docs\/decisions)/.test(where))
  .map(
    ([where, text]) => [where, text.replaceAll(/`[^`]*`|--lane(?: LANE| [\w…-]+)?|lanes\/[\w-]+\.json/g, '')] as const,
  );

test('the word lane reaches nobody: write "the queue", "issue #7", "branch"', () => {
  const hits = forUsers.filter(([, text]) => /\blanes?\b(?![.-])/i.test(text));
  expect(hits.map(([where, text]) => `${where} ${text}`)).toEqual([]);
});

test.each(STOP_LIST)('no public text has %s: write "%s"', (stop) => {
  const hits = texts.filter(([, text]) => stop.test(text));
  expect(hits.map(([where, text]) => `${where} ${text}`)).toEqual([]);
});

const allComments = comments();

test('comments are found', () => {
  expect(allComments.length).toBeGreaterThan(4000);
});

test.each(COMMENT_STOP_LIST)('no comment of src/ has %s: write %s', (stop) => {
  const hits = allComments.filter(([, text]) => stop.test(text));
  expect(hits.map(([where, text]) => `${where} ${text}`)).toEqual([]);
});
