import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AGENT_NAMES, type AgentName } from '../../../../src/core/agent-names.ts';
import type { AgentError } from '../../../../src/core/analysis/analysis.ts';
import {
  recordProviderCall,
  capProviderTimes,
  chooseAgent,
  MAX_USAGE_WAIT_MS,
  listPassedOverAgents,
  allowProviderProbes,
  providerTroubles,
  findLongestRefusedAgent,
  type AgentOrder,
  type ProviderCircuit,
  type ProviderCall,
  type Providers,
  type ProviderTrouble,
} from '../../../../src/core/agents/providers.ts';
import { runs } from '../../../runs.ts';
import { HOUR, MINUTE, noon } from '../core-fixtures.ts';

const order: AgentOrder = ['claude', 'codex'];
const open = (why: ProviderTrouble, until: number): ProviderCircuit => ({ kind: 'open', why, until });

function call(
  change: Partial<ProviderCall['analysis']> & Partial<Pick<ProviderCall, 'end' | 'progress' | 'agentFailed'>> = {},
): ProviderCall {
  const { end = { kind: 'exited', code: 0 }, progress = false, agentError = null, usageLimit = null } = change;
  return { analysis: { agentError, usageLimit }, end, progress, agentFailed: change.agentFailed ?? false };
}
const fails = (kind: AgentError['kind'], end: ProviderCall['end'] = { kind: 'exited', code: 1 }): ProviderCall =>
  call({ agentError: { kind, text: kind }, end });
const limited = (resumeAt: number | null, unconfirmed = false): ProviderCall =>
  call({
    agentError: { kind: 'rate-limit', text: '' },
    usageLimit: {
      window: 'weekly',
      resumeAt: resumeAt === null ? null : new Date(resumeAt).toISOString(),
      ...(unconfirmed ? { unconfirmed: true as const } : {}),
    },
    end: { kind: 'exited', code: 1 },
  });

describe('the agent whose turn it is', () => {
  const later = noon + HOUR;
  test.each<[string, Providers, ReturnType<typeof chooseAgent>]>([
    ['nobody was in trouble', {}, { kind: 'agent', name: 'claude', probe: false }],
    [
      'the first failed once',
      { claude: { kind: 'closed', failures: 1 } },
      { kind: 'agent', name: 'claude', probe: false },
    ],
    ['the first is at its limit', { claude: open('limit', later) }, { kind: 'agent', name: 'codex', probe: false }],
    ['the first has no credit', { claude: open('billing', later) }, { kind: 'agent', name: 'codex', probe: false }],
    [
      'the key of the first is refused',
      { claude: open('auth', later) },
      { kind: 'agent', name: 'codex', probe: false },
    ],
    ['the first fails', { claude: open('failing', later) }, { kind: 'agent', name: 'codex', probe: false }],
    ['the limit of the first is over', { claude: open('limit', noon) }, { kind: 'agent', name: 'claude', probe: true }],
    ['its limit ends in a moment', { claude: open('limit', noon + 1) }, { kind: 'agent', name: 'codex', probe: false }],
    [
      'both are at their limits',
      { claude: open('limit', later), codex: open('limit', noon + MINUTE) },
      { kind: 'parked', until: noon + MINUTE, why: 'limit', needsPerson: null },
    ],
    [
      'one is at its limit, and the other fails for now',
      { claude: open('limit', later), codex: open('failing', noon + MINUTE) },
      { kind: 'parked', until: noon + MINUTE, why: 'limit', needsPerson: null },
    ],
    [
      'one is at its limit, and the other is refused until before then',
      { claude: open('limit', later), codex: open('auth', noon + MINUTE) },
      { kind: 'parked', until: later, why: 'limit', needsPerson: null },
    ],
    ['both are refused', { claude: open('auth', later), codex: open('billing', later) }, { kind: 'refused' }],
    [
      'both fail',
      { claude: open('failing', later), codex: open('failing', later) },
      { kind: 'agent', name: 'claude', probe: true },
    ],
    [
      'the first is refused, and the other fails',
      { claude: open('auth', later), codex: open('failing', later) },
      { kind: 'agent', name: 'codex', probe: true },
    ],
    [
      'one that is not in the order has a limit',
      { gemini: open('limit', later) },
      { kind: 'agent', name: 'claude', probe: false },
    ],
  ])('%s', (_, providers, expected) => {
    expect(chooseAgent(order, providers, noon)).toEqual(expected);
  });

  test.each<[ProviderTrouble, string]>([
    ['limit', 'parked'],
    ['billing', 'refused'],
    ['auth', 'refused'],
    ['failing', 'agent'],
  ])('alone, with trouble of the kind %s: %s', (why, kind) => {
    expect(chooseAgent(['claude'], { claude: open(why, later) }, noon).kind).toBe(kind);
  });

  test('of refused ones the one that was refused first is asked first', () => {
    expect(findLongestRefusedAgent(order, { claude: open('auth', later), codex: open('auth', noon) })).toBe('codex');
    expect(findLongestRefusedAgent(order, { claude: open('auth', noon), codex: open('auth', noon) })).toBe('claude');
    expect(findLongestRefusedAgent(order, {})).toBe('claude');
  });

  test('the agents before it in the order, with the reasons', () => {
    const providers = { claude: open('limit', later), gemini: open('auth', later), codex: open('failing', noon) };
    expect(listPassedOverAgents(['claude', 'codex', 'gemini'], providers, 'gemini', noon)).toEqual([
      { name: 'claude', why: 'limit', until: later },
    ]);
    expect(listPassedOverAgents(order, providers, 'claude', noon)).toEqual([]);
  });
});

describe('what a call makes of a circuit', () => {
  const closed: ProviderCircuit = { kind: 'closed', failures: 0 };
  const once: ProviderCircuit = { kind: 'closed', failures: 1 };
  const probed = open('limit', noon);
  const failing = open('failing', noon + 15 * MINUTE);
  test.each<[string, ProviderCircuit, ProviderCall, ProviderCircuit]>([
    ['a limit opens it until its end', closed, limited(noon + 2 * HOUR), open('limit', noon + 2 * HOUR)],
    ['a limit without an end: an hour', closed, limited(null), open('limit', noon + HOUR)],
    ['a limit that is over: a try within minutes', closed, limited(noon - HOUR), open('limit', noon + 5 * MINUTE)],
    [
      'a limit that is over, tried: the usual hour',
      open('limit', noon),
      limited(noon - HOUR),
      open('limit', noon + HOUR),
    ],
    [
      'a limit that has ended as was said: a try within minutes',
      open('limit', noon - HOUR),
      limited(noon - HOUR),
      open('limit', noon + 5 * MINUTE),
    ],
    [
      'a limit of years: as long as the longest',
      closed,
      limited(noon + 900 * 24 * HOUR),
      {
        kind: 'open',
        why: 'limit',
        until: noon + MAX_USAGE_WAIT_MS,
        needsPerson: "The provider's usage limit is reached",
      },
    ],
    ['a limit of days by one sign: six hours', closed, limited(noon + 90 * HOUR, true), open('limit', noon + 6 * HOUR)],
    ['no credit opens it at once', closed, fails('billing'), open('billing', noon + HOUR)],
    ['a refused key opens it at once', closed, fails('auth'), open('auth', noon + HOUR)],
    ['one failure is counted', closed, fails('server'), once],
    ['a second in a row opens it', once, fails('server'), failing],
    ['a rate limit without a usage limit is a failure', once, fails('rate-limit'), failing],
    ['so is a call that only retried', once, call({ end: { kind: 'stalled' } }), failing],
    ['and one that changed something before', once, { ...fails('server'), progress: true }, failing],
    ['an answer ends the row', once, call(), closed],
    ['an answer to a probe closes it', probed, call(), closed],
    ['a failed probe opens it again', probed, fails('server'), failing],
    ['a probe that meets the limit again', probed, limited(noon + HOUR), open('limit', noon + HOUR)],
    ['an error of the work is an answer', probed, fails('max-turns'), closed],
    ['a conversation that is too long is an answer', probed, fails('prompt-too-long'), closed],
    [
      'content that changed is an answer',
      probed,
      call({ end: { kind: 'timeout', of: 'call' }, progress: true }),
      closed,
    ],
    ['a crash says nothing', once, call({ end: { kind: 'exited', code: 1 } }), once],
    ['an unknown session says nothing', once, fails('unknown-session'), once],
    ['an unknown model says nothing', probed, fails('model'), probed],
    ['a call that was cut off says nothing', probed, call({ end: { kind: 'timeout', of: 'run' } }), probed],
    ['a cancel says nothing', probed, call({ end: { kind: 'cancelled' } }), probed],
  ])('%s', (_, before, made, after) => {
    expect(recordProviderCall({ claude: before }, 'claude', made, noon)).toEqual({ claude: after });
  });

  test('only that of the agent that was called', () => {
    expect(recordProviderCall({ claude: probed }, 'codex', fails('auth'), noon)).toEqual({
      claude: probed,
      codex: open('auth', noon + HOUR),
    });
  });

  test('what never failed has no entry', () => {
    const none: Providers = {};
    expect(recordProviderCall(none, 'claude', call(), noon)).toBe(none);
  });
});

test('a day of two agents, as a timeline', () => {
  const at: string[] = [];
  let providers: Providers = {};
  const step = (time: string, made: ProviderCall): void => {
    const now = Date.parse(`2026-11-21T${time}:00Z`);
    const chosen = chooseAgent(order, providers, now);
    at.push(`${time} ${chosen.kind === 'agent' ? `${chosen.name}${chosen.probe ? ' (probe)' : ''}` : chosen.kind}`);
    if (chosen.kind === 'agent') providers = recordProviderCall(providers, chosen.name, made, now);
  };
  step('09:00', call());
  step('09:10', limited(Date.parse('2026-11-21T14:00:00Z')));
  step('09:11', call());
  step('10:00', fails('server'));
  step('10:05', fails('server'));
  step('10:06', call());
  step('10:20', fails('server'));
  step('10:21', call());
  step('10:35', call());
  step('14:00', fails('server'));
  step('14:01', call());
  step('14:15', call());
  step('14:16', call());
  expect(at).toEqual([
    '09:00 claude',
    '09:10 claude',
    '09:11 codex',
    '10:00 codex',
    '10:05 codex',
    '10:06 parked',
    '10:20 codex (probe)',
    '10:21 parked',
    '10:35 codex (probe)',
    '14:00 claude (probe)',
    '14:01 codex',
    '14:15 claude (probe)',
    '14:16 claude',
  ]);
});

test('a person who asks to try now gets a probe of all but a limit', () => {
  const later = noon + HOUR;
  const before: Providers = {
    claude: open('auth', later),
    codex: open('limit', later),
    gemini: open('failing', noon - 1),
  };
  expect(allowProviderProbes(before, { limits: true, now: noon })).toEqual({ ...before, claude: open('auth', noon) });
});

test('a limit that people lift is probed for who may have lifted it', () => {
  const spent: ProviderCircuit = { kind: 'open', why: 'limit', until: noon + HOUR, needsPerson: 'spend limit' };
  const probed = (limits: boolean) => allowProviderProbes({ claude: spent }, { limits, now: noon }).claude;
  expect(probed(true)).toEqual({ ...spent, until: noon });
  expect(probed(false)).toEqual(spent);
});

describe('a clock that was wrong', () => {
  test('keeps no provider from a call for longer than its trouble may last', () => {
    const far = noon + 900 * 24 * HOUR;
    const wrong: Providers = { claude: open('limit', far), codex: open('auth', far), gemini: open('failing', far) };
    expect(capProviderTimes(wrong, noon)).toEqual({
      claude: open('limit', noon),
      codex: open('auth', noon),
      gemini: open('failing', noon),
    });
    const day = noon + 24 * HOUR;
    expect(capProviderTimes({ codex: open('auth', day), gemini: open('failing', day) }, noon)).toEqual({
      codex: open('auth', noon + HOUR),
      gemini: open('failing', noon + 15 * MINUTE),
    });
  });

  test('that went back ends no trouble before its time', () => {
    const providers: Providers = { claude: open('limit', noon + HOUR) };
    expect(capProviderTimes(providers, noon - 2 * HOUR)).toBe(providers);
    expect(chooseAgent(order, providers, noon - 2 * HOUR)).toMatchObject({ name: 'codex' });
  });
});

const anyName = fc.constantFrom(...AGENT_NAMES);
const anyInstant = fc.integer({ min: noon - 3 * HOUR, max: noon + 3 * HOUR });
const anyProvider: fc.Arbitrary<ProviderCircuit> = fc.oneof(
  fc.record({ kind: fc.constant('closed' as const), failures: fc.nat(3) }),
  fc.record({ kind: fc.constant('open' as const), why: fc.constantFrom(...providerTroubles), until: anyInstant }),
);
const anyProviders = fc.dictionary(anyName, anyProvider) as fc.Arbitrary<Providers>;
const anyOrder = fc
  .uniqueArray(anyName, { minLength: 1 })
  .map(([first, ...others]): AgentOrder => [first as AgentName, ...others]);

test('whatever is known, nobody is called whose turn it is not, and nobody is waited for who is there', () => {
  fc.assert(
    fc.property(anyOrder, anyProviders, anyInstant, (names, providers, now) => {
      const chosen = chooseAgent(names, providers, now);
      const isReady = (name: AgentName): boolean => {
        const known = providers[name];
        return known?.kind !== 'open' || known.until <= now;
      };
      if (chosen.kind !== 'agent') expect(names.some(isReady)).toBe(false);
      else if (names.some(isReady)) expect(chosen.name).toBe(names.find(isReady));
      if (chosen.kind === 'parked') expect(chosen.until).toBeGreaterThan(now);
    }),
    { numRuns: runs(300) },
  );
});
