/** Maximum number of tests of one report; more are ignored. */
export const MAX_TESTS = 20_000;

/** The result of a test. `mixed`: of several tests with the same name, some passed and others failed. */
export type TestResult = 'passed' | 'failed' | 'skipped' | 'mixed';

/**
 * A test in a reporter's output. `of: 'file'`: a file or package with a result of its own, with or without its tests.
 */
export interface NamedTest {
  readonly of: 'test' | 'file';
  /** The file or package as the reporter writes it; null if it names none. */
  readonly file: string | null;
  /** The names of its suites and its own name. */
  readonly path: readonly string[];
  readonly result: TestResult;
}

/** Matches the JUnit tags that describe a test or its result. */
const TAG =
  /<(\/?)(testsuite|testcase|failure|error|skipped)\b((?:"[^"]{0,4000}"|'[^']{0,4000}'|[^<>"'/]|\/(?!>)){0,2000})(\/?)>/g;

const ATTRIBUTE = /([\w:-]{1,40})\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/** Returns the tests in the JUnit XML of a text, in order; empty if none. Accepts any string. */
export function parseJunitTests(text: string): readonly NamedTest[] {
  if (!text.includes('<testcase')) return [];
  const tests: NamedTest[] = [];
  const suites: string[] = [];
  let open: NamedTest | null = null;
  for (const [, closing = '', tag = '', attributes = '', selfClosing = ''] of withoutCdata(text).matchAll(TAG)) {
    if (tests.length >= MAX_TESTS) break;
    if (tag === 'testsuite') {
      if (closing !== '') suites.pop();
      else if (selfClosing === '') suites.push(attributesOf(attributes)['name'] ?? '');
    } else if (tag !== 'testcase') {
      if (open !== null && closing === '') open = { ...open, result: tag === 'skipped' ? 'skipped' : 'failed' };
    } else {
      if (open !== null) tests.push(open);
      open = closing === '' ? testOf(attributesOf(attributes), suites.at(-1) ?? '') : null;
      if (open === null || selfClosing === '') continue;
      tests.push(open);
      open = null;
    }
  }
  return tests;
}

function testOf(
  { name = '', classname = '', file }: Readonly<Record<string, string | undefined>>,
  suite: string,
): NamedTest {
  // Runners put file, class and suite into different attributes; together, these name the test.
  const [place = '', ...inner] = [...new Set([file ?? classname, suite, classname])];
  const isRunner = /^(?:|pytest|test)$/;
  return {
    of: 'test',
    file: place === '' ? null : place,
    path: [...inner.filter((part) => !isRunner.test(part)), name === '' ? 'unnamed' : name],
    result: 'passed',
  };
}

function attributesOf(text: string): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    [...text.matchAll(ATTRIBUTE)].map(([, name = '', double, single]) => [name, unescaped(double ?? single ?? '')]),
  );
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** Decodes the value of an attribute. As in XML, white space in it, such as a line end, becomes blanks. */
function unescaped(text: string): string {
  const decoded = text.replace(
    /&(?:(lt|gt|quot|apos|amp)|#x([\da-f]{1,5})|#(\d{1,6}));/gi,
    (whole, name?: string, hex?: string, decimal?: string) =>
      name === undefined
        ? String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
        : (ENTITIES[name] ?? whole),
  );
  return decoded
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .toWellFormed();
}

/** Removes CDATA sections, in which a failure may quote anything. */
function withoutCdata(text: string): string {
  const [first = '', ...rest] = text.split('<![CDATA[');
  return first + rest.map((part) => part.slice(part.indexOf(']]>') + 3)).join('');
}
