import { describe, expect, test } from 'vitest';
import { configOf } from '../../loop/stage/run-action.ts';

/** An agent of the order as `[name, version, path, args, model]`. */
type Row = readonly [string, string, string | null, readonly string[], string | null];

const orderOf = (inputs: Readonly<Record<string, string>>): readonly Row[] =>
  configOf(inputs).agent.order.map(({ name, version, path, args, model }) => [name, version, path, args, model]);

describe('the agents, in their order', () => {
  test.each<[string, Readonly<Record<string, string>>, readonly Row[]]>([
    ['no input', {}, [['claude', '2.1.330', null, [], null]]],
    ['one', { agent: 'codex' }, [['codex', '0.169.0', null, [], null]]],
    [
      'one with texts of its own',
      { agent: 'gemini', 'agent-version': '0.61.1', 'agent-args': '--debug\n--x=y', model: 'gemini-2.5-pro' },
      [['gemini', '0.61.1', null, ['--debug', '--x=y'], 'gemini-2.5-pro']],
    ],
    [
      'several, each with its own',
      {
        agent: 'claude, codex',
        'agent-version': 'claude=2.1.331\ncodex=0.170.0-alpha.1',
        'agent-path': 'codex=/opt/codex',
        'agent-args': 'codex=--a\ncodex=--b=c, d',
        model: 'claude=opus, codex=gpt-5.5',
      },
      [
        ['claude', '2.1.331', null, [], 'opus'],
        ['codex', '0.170.0-alpha.1', '/opt/codex', ['--a', '--b=c, d'], 'gpt-5.5'],
      ],
    ],
    ['an own program', { agent: 'command', 'agent-path': '/bin/x' }, [['command', '', '/bin/x', [], null]]],
    [
      'an argument with a name that is not an agent',
      { 'agent-args': 'verbose=1' },
      [['claude', '2.1.330', null, ['verbose=1'], null]],
    ],
  ])('%s', (_what, inputs, order) => {
    expect(orderOf(inputs)).toEqual(order);
  });

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['a slip', { agent: 'codx' }, 'agent: "codx" must be one of: claude, codex, gemini'],
    ['a slip in the list', { agent: 'claude, codx' }, 'agent: "claude, codx" must be one of: claude, codex, gemini'],
    ['none', { agent: ' ' }, 'agent: "" is empty: name at least one of claude, codex'],
    [
      'the name of the list before',
      { agents: 'claude, codex' },
      'agents: is now part of `agent`: name the agents there',
    ],
    ['one twice', { agent: 'codex, codex' }, 'agent: "codex, codex" names an agent twice'],
    ['no path', { agent: 'command' }, 'agent-path: "" is empty: the agent `command` is your own program'],
    [
      'a text for which of them?',
      { agent: 'claude, codex', model: 'opus' },
      'model: "opus" must be of the form NAME=VALUE, since there are several agents',
    ],
    ['two models', { agent: 'claude, codex', model: 'codex=x\ncodex=y' }, 'has two lines for codex'],
    ['no version', { agent: 'claude, codex', 'agent-version': 'claude=2.1.330' }, 'has no version for codex'],
    ['no exact version', { agent: 'codex', 'agent-version': 'codex=latest' }, 'is not an exact version such as'],
    ['no exact version, alone', { 'agent-version': 'latest' }, '"latest" is not an exact version such as'],
  ])('%s is an error', (_what, inputs, message) => {
    expect(() => orderOf(inputs)).toThrow(message);
  });
});
