import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { laneReportSchema } from '../../../src/cli/lane/lane-schema.ts';
import { ralph, settingsOf } from './fixture.ts';
import { at, createPlace, lease, placeWith, richBudget, richState, type Place } from './state-fixture.ts';
import { publishedSchema } from '../../published-schema.ts';

test('the published JSON Schema is the one of the code (vitest -u writes it)', async () => {
  await expect(
    `${JSON.stringify(publishedSchema('ralph status --json', laneReportSchema), null, 2)}\n`,
  ).toMatchFileSnapshot('../../../schemas/ralph-branch.schema.json');
});

describe('the published JSON Schema accepts', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(publishedSchema('ralph status --json', laneReportSchema));
  const printed = async (args: readonly string[], ...places: readonly Place[]): Promise<object> =>
    JSON.parse((await ralph([...args, '--json'], '', at(...places))).out) as object;

  const unreachable = createPlace('directory');
  unreachable.place.outage = 'it is gone';

  test.each<[string, () => Promise<object>, object]>([
    [
      'a lane with everything',
      async () => printed(['status'], placeWith(richState, { lease }, richBudget)),
      {
        branchId: 'queue',
        at: '2026-11-21T12:00:00.000Z',
        places: [
          {
            kind: 'branch',
            saved: { sequence: 41, origin: 'ref' },
            working: { runId: '98' },
            circuit: { kind: 'open' },
            usage: { hour: { calls: 22 }, day: { costUsd: 8.2 }, reservations: [{ calls: 10 }] },
            pause: { by: 'octo [2Jcat' },
          },
        ],
      },
    ],
    [
      'a lane that never ran, and a place that cannot be reached',
      async () => printed(['status', '--issue', '7'], createPlace('ref'), unreachable),
      {
        branchId: 'issue-7',
        places: [
          { kind: 'branch', saved: null, working: null, circuit: { kind: 'closed' } },
          { kind: 'unavailable', place: 'directory' },
        ],
      },
    ],
    [
      'the settings of the workflows',
      async () => {
        const setting = {
          input: 'verify',
          text: 'make\ntest',
          origin: 'file',
          where: '.ralphrc:1 TEST_COMMAND',
        } as const;
        settingsOf.set(import.meta.dirname, [
          { workflow: 'ralph.yml', settings: [setting], problems: ['.ralphrc:2: x.'] },
        ]);
        const json = await printed(['status'], createPlace('ref'));
        settingsOf.clear();
        return json;
      },
      {
        settings: [
          {
            workflow: 'ralph.yml',
            settings: [{ input: 'verify', text: 'make; test', origin: 'file' }],
            problems: ['.ralphrc:2: x.'],
          },
        ],
      },
    ],
    [
      'the answer to an order',
      async () => printed(['pause'], createPlace('ref')),
      { places: [{ pause: { by: 'Ann Other' }, ordersWaiting: [{ order: 'pause', from: 'command-line' }] }] },
    ],
  ])('%s', async (_, print, expected) => {
    const json = await print();
    expect(json).toMatchObject(expected);
    validate(json);
    expect(validate.errors).toBeNull();
  });

  test.each([
    ['a field that is not in it', { more: 1 }],
    ['a place that is in no known condition', { places: [{ kind: 'lost', place: 'ref', why: '' }] }],
    ['an invalid instant', { at: 'noon' }],
  ])('but not %s', async (_, change) => {
    expect(validate({ ...(await printed(['status'], createPlace('ref'))), ...change })).toBe(false);
  });
});
