import { expect } from 'vitest';
import { KEY, type Run } from '../../e2e-fixture.ts';
import { COLLECTOR_KEY, SECRET, startReceiver } from '../../outward/receiver.ts';
import { attackBy, everythingPushed, repel, shownBy, type Attack } from '../attack-fixture.ts';

const SECRETS = [SECRET, COLLECTOR_KEY];

/** Words that mention people, in GitHub's way and in Slack's, and name a key. */
const shout = attackBy('', {
  text: 'I looked around.',
  status: { finishes: false, exit: false, recommendation: `Ask <!channel> @octocat about ${KEY}` },
});

interface Sent {
  readonly runs: readonly Run[];
  readonly address: string;
  readonly bodies: readonly string[];
  /** Everything that is on GitHub or was pushed. */
  readonly written: string;
  /** Number of lines with one of the secrets in the agent's environment, as the agent counted them. */
  readonly found: string;
}

repel<Sent>('messages that leave', {
  stage: async (scene) => {
    await using receiver = await startReceiver();
    scene.openIssue('Greet <!here> & everybody');
    const inputs = { settings: `notify-webhook: ${receiver.hook}\nnotify-webhook-secret: ${SECRET}` };
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin, OTEL_EXPORTER_OTLP_HEADERS: `a=${COLLECTOR_KEY}` };
    const spy = attackBy(`env | grep -c 'T0123/B0123\\|${SECRETS.join('\\|')}' > found.txt`);
    const run = await scene.run({ agent: [spy, shout, shout, shout], inputs, env });
    const pushed = await everythingPushed(scene);
    return {
      runs: [run],
      address: receiver.hook,
      bodies: receiver.messages().map(({ body }) => body.toString()),
      written: `${JSON.stringify(scene.testbed.github.state)}${pushed}`,
      found: /^\+(\d+)$/m.exec(pushed)?.[1] ?? '',
    };
  },
  attacks: [
    {
      who: 'the agent',
      does: 'looks for the webhook and the headers of the collector in its environment',
      never: 'it finds any of them',
      holds: ({ found }) => {
        expect(found).toBe('0');
      },
    },
    {
      who: 'the agent',
      does: 'says words that mention people, and a key',
      never: 'a message has the key, or somebody to mention',
      holds: ({ bodies }) => {
        expect(bodies).toHaveLength(1);
        expect(bodies.join('')).not.toContain(KEY);
        expect(bodies.join('')).not.toMatch(/(?:^|[^\w`])@oct/);
      },
    },
    {
      who: 'the agent',
      does: 'makes a run that sends',
      never: 'the address, the secret or the headers are shown',
      holds: ({ runs, address, written }) => {
        const shown = runs
          .map(shownBy)
          .join('')
          .split('\n')
          .filter((line) => !line.startsWith('::add-mask::'));
        const all = `${shown.join('\n')}${written}`;
        expect([address, ...SECRETS].filter((secret) => all.includes(secret))).toEqual([]);
      },
    },
  ] satisfies readonly Attack<Sent>[],
});
