import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRc } from '../../../../src/config/settings/rc-file.ts';
import { cpuMs } from '../../../cpu.ts';
import { runs } from '../../../runs.ts';

const valuesOf = (text: string): Readonly<Record<string, string>> => {
  const { entries, problems } = parseRc(text);
  expect(problems).toEqual([]);
  return Object.fromEntries(entries.map(({ key, value }) => [key, value]));
};

describe('values as bash reads them', () => {
  test.each<[string, string, Readonly<Record<string, string>>]>([
    ['a plain value', 'A=1', { A: '1' }],
    ['double quotes', 'A="x y"', { A: 'x y' }],
    ['single quotes, in which nothing is special', `A='x "y" $z \\ \`w\`'`, { A: 'x "y" $z \\ `w`' }],
    ['quotes side by side', `A=a"b c"'d e'f`, { A: 'ab cd ef' }],
    ['an escaped quote', String.raw`A="say \"hi\""`, { A: 'say "hi"' }],
    ['an escaped dollar and backquote', String.raw`A="\$5 \`x\`"`, { A: '$5 `x`' }],
    ['a backslash before anything else stays in quotes', String.raw`A="a\nb"`, { A: String.raw`a\nb` }],
    ['a backslash outside of quotes', String.raw`A=a\ b`, { A: 'a b' }],
    ['a lone dollar', 'A="5$ "', { A: '5$ ' }],
    ['an empty value', 'A=\nB=""', { A: '', B: '' }],
    ['export', 'export A=1', { A: '1' }],
    ['indentation', '  \tA=1', { A: '1' }],
    ['a comment line', '# A=0\nA=1', { A: '1' }],
    ['a comment behind a value', 'A=1 # one', { A: '1' }],
    ['a # that is not a comment', 'A=a#b', { A: 'a#b' }],
    ['a # in quotes', 'A="a # b"', { A: 'a # b' }],
    ['blank lines', '\n\n  \nA=1\n\n', { A: '1' }],
    ['CRLF', 'A=1\r\nB="2"\r\n', { A: '1', B: '2' }],
    ['a byte order mark', '\uFEFFA=1', { A: '1' }],
    ['quotes over several lines', 'A="x,\n  y"\nB=2', { A: 'x,\n  y', B: '2' }],
    ['a joined line', 'A="x\\\ny"', { A: 'xy' }],
    ['shell code in single quotes', "A='$(date); rm -rf x'", { A: '$(date); rm -rf x' }],
    ['a default of its own', 'A="${A:-7}"', { A: '7' }],
    ['an empty default of its own', 'A="${A:-}"', { A: '' }],
    ['a reference to a line above', 'A=7\nB="$A${A}"', { A: '7', B: '77' }],
    ['a line above instead of a default', 'A=7\nB=${A:-8}', { A: '7', B: '7' }],
    ['a $ before a quote in double quotes', `A="grep 'ok$' x"\nB="^a$"`, { A: "grep 'ok$' x", B: '^a$' }],
    ['of two lines the last', 'A=1\nA=2', { A: '2' }],
  ])('%s', (_, text, values) => {
    expect(valuesOf(text)).toEqual(values);
  });
});

describe('what only a shell could answer is a problem with its line', () => {
  test.each<[string, string, number, string]>([
    ['a command', '\nA="$(date)"', 2, 'has a command in $(…)'],
    ['a command without quotes', 'A=$(id)', 1, 'has a command in $(…)'],
    ['backquotes', 'A="`id`"', 1, 'has a command in backquotes'],
    ['arithmetic', 'A=$((1+1))', 1, 'has a command in $(…)'],
    ['old arithmetic', 'A=$[50*2]', 1, 'has an expansion that only a shell can make'],
    ['old arithmetic in quotes', 'A="$[50*2]"', 1, 'has an expansion that only a shell can make'],
    ['a condition', '# c\nif [ -f x ]; then', 2, 'is not KEY=VALUE but shell code'],
    ['a second command', 'A=1; rm -rf x', 1, 'has ; outside of quotes'],
    ['a conjunction', 'A=1 && B=2', 1, 'has more after the value of A'],
    ['a pipe', 'A=1|x', 1, 'has | outside of quotes'],
    ['a command with a variable', 'A=1 make', 1, 'has more after the value of A'],
    ['an unquoted list', 'ALLOWED_TOOLS=Write, Read', 1, 'put a value with spaces in quotes, ALLOWED_TOOLS="…"'],
    ['source', 'source ~/.profile', 1, 'is not KEY=VALUE but shell code'],
    ['an array', 'A=(1 2)', 1, 'has ( outside of quotes'],
    ['an append', 'A+=1', 1, 'is not KEY=VALUE but shell code'],
    ['a blank before the =', 'A = 1', 1, 'has a space before the =: write KEY=VALUE'],
    ['a home', 'A=~/bin/claude', 1, 'begins its value with ~'],
    ['a home in a list of paths', 'A=/bin:~/bin', 1, 'has ~ after a colon'],
    ['a variable of the environment', 'A="$HOME"', 1, 'refers to HOME, which no line above sets'],
    ['a secret', 'A=${GITHUB_TOKEN:-x}', 1, 'refers to GITHUB_TOKEN, which no line above sets'],
    ['an expansion', 'A=${B%x}', 1, 'has an expansion that only a shell can make'],
    ['an ANSI string', "A=$'x'", 1, 'has an expansion that only a shell can make'],
    ['a quote that is never closed', 'A=1\nB="x\nC=2', 2, 'begins a value with " that is never closed'],
    ['bytes that are not UTF-8', 'A=1\nB=\uFFFD', 2, 'has bytes that are not UTF-8'],
  ])('%s', (_, text, line, why) => {
    const { problems } = parseRc(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.line).toBe(line);
    expect(problems[0]?.why).toContain(why);
  });

  test('all at once, and the other lines are still read', () => {
    const { entries, problems } = parseRc('A=$(a)\nB=2\nfoo\nC=`c`\nD=4\n');
    expect(problems.map(({ line }) => line)).toEqual([1, 3, 4]);
    expect(entries).toEqual([
      { key: 'B', value: '2', line: 2 },
      { key: 'D', value: '4', line: 5 },
    ]);
  });
});

test('no text makes it throw, and no line is counted twice', () => {
  const piece = fc.constantFrom(
    'A',
    '=',
    '"',
    "'",
    '$',
    '{',
    '}',
    '(',
    ')',
    '`',
    '\\',
    '\n',
    '\r',
    ' ',
    '#',
    ';',
    ':-',
    '\0',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const text = pieces.join('');
      const lines = text.replace(/\r\n?/g, '\n').split('\n').length;
      const { entries, problems } = parseRc(text);
      for (const { line } of [...entries, ...problems]) {
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(lines);
      }
      expect(new Set(entries.map(({ line }) => line)).size).toBe(entries.length);
    }),
    { numRuns: runs(2000) },
  );
});

test.each([
  ['one line', 'A="' + 'x'.repeat(1024 * 1024) + '"'],
  ['dollars', `A="${'$ '.repeat(512 * 1024)}"`],
  ['broken lines', 'x\n'.repeat(512 * 1024)],
])('1 MiB of %s is read in no time', (_, text) => {
  expect(cpuMs(() => parseRc(text))).toBeLessThan(5_000);
});
