import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { createLog, neutralizeCommands } from '../../../src/runner/results.ts';
import { runs } from '../../runs.ts';

// Models GitHub's runner (actions/runner, ActionCommand.cs): it ignores white space at the beginning of a line, as .NET
// defines it, and reads a command if the line begins with `::` or contains `##[` anywhere.
const startsCommand = (line: string): boolean =>
  line.replace(/^[\t-\r\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/, '').startsWith('::') ||
  line.includes('##[');
const commandsIn = (text: string): string[] => text.split(/\r\n|\r|\n/).filter(startsCommand);

describe('text of others in the log cannot issue a command', () => {
  test.each([
    '::set-output name=a::b',
    '  \t::error::x',
    'fine\n::add-mask::x',
    'fine\r::warning::x',
    'fine\r\n::warning::x',
    'fine\u2028::error::x',
    'fine\u2029::error::x',
    '\u0085::error::x',
    '\u00a0\u3000\u1680::error::x',
    '\u000b\u000c::error::x',
    '\ufeff::error::x',
    '\u200b::error::x',
    '\u0000::error::x',
    ':::error::x',
    '::::error::x',
    '##[error]x',
    'prose ##[command]x',
    '####[error]x',
    '##[##[error]x',
    '::stop-commands::token',
  ])('%j', (text) => {
    expect(commandsIn(neutralizeCommands(text))).toEqual([]);
    // A runner that ignores invisible characters would find no command either.
    expect(
      commandsIn(neutralizeCommands(text).replaceAll(/[\p{C}]/gu, (character) => (character === '\n' ? '\n' : ''))),
    ).toEqual([]);
  });

  test('whatever the text is', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '::',
        ':',
        '##[',
        '#',
        '[',
        '\r',
        '\n',
        '\r\n',
        '\u2028',
        '\u0085',
        '\u00a0',
        ' ',
        '\t',
        'error',
        ']',
        '\u0000',
        '\ufeff',
      ),
      fc.string({ unit: 'grapheme', maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        expect(commandsIn(neutralizeCommands(pieces.join('')))).toEqual([]);
      }),
      { numRuns: runs(2_000) },
    );
  });

  test.each(['a::b', 'std::vector', 'http://x', '# Heading', '[link]', 'line 1\nline 2', ': a', ''])(
    '%j stays as it is',
    (text) => {
      expect(neutralizeCommands(text)).toBe(text);
    },
  );
});

describe('the log', () => {
  const printed = async (body: (log: ReturnType<typeof createLog>) => unknown): Promise<string[]> => {
    const lines: string[] = [];
    const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      lines.push(String(text));
      return true;
    });
    try {
      await body(createLog((text) => text.replaceAll('hunter2', '***')));
    } finally {
      write.mockRestore();
    }
    return lines.join('').trimEnd().split('\n');
  };

  test('keeps what it prints, redacted and without commands', async () => {
    const kept: string[] = [];
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const log = createLog(
      (text) => text.replaceAll('hunter2', '***'),
      (text) => kept.push(text),
    );
    await log.group('a hunter2', () => {
      log.info('::set-env::hunter2');
      log.warning('b hunter2');
      return Promise.resolve();
    });
    write.mockRestore();
    expect(kept).toEqual(['a ***', ': :set-env::***', 'Warning: b ***']);
  });

  test('redacts at every level', async () => {
    const lines = await printed(async (log) => {
      log.info('a hunter2');
      log.warning('b hunter2');
      log.error('c hunter2');
      await log.group('d hunter2', () => {
        log.info('e hunter2');
        return Promise.resolve();
      });
    });
    expect(lines).toEqual(['a ***', '::warning::b ***', '::error::c ***', '::group::d ***', 'e ***', '::endgroup::']);
  });

  test('an annotation is one command, however many lines its text has, and at most 4,000 characters', async () => {
    expect(
      await printed((log) => {
        log.error('100%\r\n::error::x');
      }),
    ).toEqual(['::error::100%25%0D%0A::error::x']);
    const [long = ''] = await printed((log) => {
      log.warning('x'.repeat(10_000));
    });
    expect(long.length).toBe('::warning::'.length + 4_000);
  });

  test('a title of a group is one line', async () => {
    expect(await printed((log) => log.group('a\n::error::b', () => Promise.resolve()))).toEqual([
      '::group::a : :error::b',
      '::endgroup::',
    ]);
  });

  test('groups do not nest, and end when their body fails', async () => {
    const lines = await printed((log) =>
      log.group('outer', () => log.group('inner', () => Promise.reject(new Error('x')))).catch(() => undefined),
    );
    expect(lines).toEqual(['::group::outer', '::endgroup::']);
  });
});
