import { createLanelessReport } from '../../src/handover/report.ts';
import { convertErrorToOutcome } from '../../src/run/failure.ts';
import { HOUR, noon } from '../../test/unit/core/core-fixtures.ts';
import { configOf, labeled } from '../../test/loop/stage/run-action.ts';
import { feedbackScenes } from './feedback-scenes.ts';
import { play, source, VERIFY, type PlayedScene, type Scene, type Turn } from './play.ts';

const INVOICE_QUESTION =
  'Which number does an invoice get: the number of the order, or one of its own without gaps? The law of most countries wants the latter.';

const shop = {
  12: 'Orders of 50 € and more ship for free',
  14: 'Show prices with VAT',
  17: 'Let customers download their invoice',
} as const;

const shippingBegun: Turn = {
  writes: { 'src/shipping.ts': source('shipping', 46), 'test/shipping.test.ts': source('case', 31) },
  says: 'working',
  recommendation: 'Shipping is free from 50 €; next the cart has to say how much is missing.',
  minutes: 6,
};
const shippingDone: Turn = {
  writes: { 'src/shipping.ts': source('shipping', 61), 'src/cart.ts': source('cart', 18) },
  says: 'done',
  recommendation: 'Free shipping is in, and the cart says how much is missing.',
  minutes: 4,
};
const pricesDone: Turn = {
  writes: { 'src/prices.ts': source('price', 38), 'test/prices.test.ts': source('case', 52) },
  says: 'done',
  recommendation: 'All prices are shown with VAT. The rate per country is in src/prices.ts.',
  minutes: 7,
};

/** The situations from best to worst, and then those of a pull request with feedback. */
export const scenes: readonly Scene[] = [
  {
    name: 'complete',
    title: 'Complete: two issues done, tests green',
    issue: 12,
    play: () =>
      play({
        issues: { 12: shop[12], 14: shop[14] },
        inputs: { verify: VERIFY },
        turns: [shippingBegun, shippingDone, pricesDone],
      }),
  },
  {
    name: 'limit-red',
    title: 'Limit reached, tests red',
    issue: 12,
    play: () =>
      play({
        issues: { 12: shop[12], 14: shop[14] },
        inputs: { verify: VERIFY, 'max-iterations': '3' },
        turns: [
          { ...shippingBegun, tests: 'red' },
          shippingDone,
          {
            writes: { 'src/cart.ts': source('cart', 25) },
            says: 'done',
            recommendation: 'All tests pass now.',
            minutes: 5,
          },
        ],
      }),
  },
  {
    name: 'blocked',
    title: 'Blocked with a question',
    issue: 17,
    play: () =>
      play({
        issues: { 17: shop[17] },
        inputs: { verify: VERIFY },
        turns: [
          {
            writes: { 'src/invoice.ts': source('invoice', 40) },
            says: 'blocked',
            recommendation: INVOICE_QUESTION,
            minutes: 5,
          },
          { says: 'blocked', recommendation: INVOICE_QUESTION, minutes: 2 },
        ],
      }),
  },
  {
    name: 'stuck',
    title: 'A stuck task set aside, the next one done',
    issue: 12,
    play: () =>
      play({
        issues: { 12: shop[12], 14: shop[14] },
        inputs: { verify: VERIFY },
        turns: [
          shippingBegun,
          ...[1, 2, 3].map((): Turn => ({
            says: 'working',
            recommendation: 'I am looking for the place where the cart adds up.',
            minutes: 2,
          })),
          pricesDone,
          { says: 'working', recommendation: 'I am still looking for it.', minutes: 2 },
        ],
      }),
  },
  {
    name: 'circuit-open',
    title: 'Circuit open: nothing changes',
    issue: 14,
    play: () =>
      play({
        issues: { 14: shop[14] },
        inputs: { verify: VERIFY },
        turns: [
          { ...pricesDone, says: 'working', recommendation: 'The rate per country is in; the product page is left.' },
          { says: 'working', recommendation: 'I will now look at the product page.', minutes: 2 },
        ],
      }),
  },
  {
    name: 'findings',
    title: 'Held by the review of another agent',
    issue: 12,
    play: () =>
      play({
        issues: { 12: shop[12] },
        inputs: { verify: VERIFY, 'max-iterations': '2' },
        turns: [shippingDone, { ...shippingDone, writes: { 'src/cart.ts': source('cart', 24) } }],
        reviews: [
          [{ severity: 'high', file: 'src/cart.ts', line: 12, text: 'An empty cart says that -50.00 € are missing.' }],
          [
            {
              severity: 'high',
              file: 'src/shipping.ts',
              line: 31,
              text: 'An order of 50.00 € ships for free at 45 €.',
            },
            { severity: 'low', file: 'src/cart.ts', line: null, text: 'The limit is also in src/shipping.ts.' },
          ],
        ],
      }),
  },
  {
    name: 'withheld',
    title: 'Files withheld',
    issue: 14,
    play: () =>
      play({
        issues: { 14: shop[14] },
        inputs: { verify: VERIFY, 'max-iterations': '2' },
        turns: [
          {
            ...pricesDone,
            writes: {
              ...pricesDone.writes,
              '.github/workflows/ci.yml': source('job', 9),
              '.mcp.json': '{}',
              '.npmrc': 'registry=https://registry.npmjs.org/',
            },
            says: 'working',
          },
          {
            writes: { 'src/prices.ts': source('price', 41) },
            says: 'working',
            recommendation:
              'Prices are shown with VAT. That the tests run in another time zone, too, is for a person to add to ci.yml.',
            minutes: 3,
          },
        ],
      }),
  },
  {
    name: 'first-run',
    title: 'The first run: a label, all defaults, no tests',
    issue: 12,
    play: () => play({ issues: { 12: shop[12] }, inputs: {}, turns: [shippingDone], first: labeled(12) }),
  },
  {
    name: 'parked',
    title: "Parked: the provider's limit is reached",
    issue: 12,
    play: () =>
      play({
        issues: { 12: shop[12], 14: shop[14], 17: shop[17] },
        inputs: { verify: VERIFY },
        turns: [
          shippingBegun,
          {
            says: 'working',
            output: {
              agentError: { kind: 'rate-limit', text: 'You have hit your limit' },
              usageLimit: { window: 'five-hour', resumeAt: new Date(noon + 5 * HOUR).toISOString() },
            },
            minutes: 1,
          },
        ],
      }),
  },
  {
    name: 'configuration-error',
    title: 'Configuration error',
    issue: 12,
    play: () => Promise.resolve(misconfigured({ 'max-iterations': 'ten', 'state-store': 'disk', session: 'yes' })),
  },
  {
    name: 'thirty-tasks',
    title: 'Thirty tasks, twelve done on one branch',
    issue: 31,
    play: () =>
      play({
        issues: Object.fromEntries(Array.from({ length: 30 }, (_, at) => [31 + at, manyTitles(at)])),
        inputs: {
          dashboard: 'true',
          verify: VERIFY,
          'max-iterations': '12',
          'max-minutes': '120',
          'max-tasks-per-pr': '0',
        },
        turns: [
          (task) => ({
            writes: {
              [`src/pages/${task}.ts`]: source('page', 24),
              [`test/pages/${task}.test.ts`]: source('case', 12),
            },
            says: 'done',
            recommendation: 'Moved, with a test.',
            minutes: 3,
          }),
        ],
      }),
  },
  ...feedbackScenes,
];

function manyTitles(at: number): string {
  const page = ['start', 'search', 'product', 'cart', 'checkout', 'account'][at % 6] ?? '';
  const part =
    ['header', 'price box', 'error messages', 'loading state', 'keyboard navigation'][Math.floor(at / 6)] ?? '';
  return `Move the ${part} of the ${page} page to the new design`;
}

/** Returns a run that ended because of its inputs. */
function misconfigured(inputs: Readonly<Record<string, string>>): PlayedScene {
  try {
    configOf(inputs);
  } catch (error) {
    const outcome = convertErrorToOutcome(error, () => undefined);
    const runUrl = 'https://github.test/acme/shop/actions/runs/1';
    return {
      project: null,
      log: [],
      report: createLanelessReport({ outcome, repositoryUrl: '', runUrl, startedAt: noon, endedAt: noon + 400 }),
    };
  }
  throw new Error('These inputs are right.');
}
