import { parseInputs } from '../../config/inputs.ts';
import type { Config } from '../../config/config.ts';
import { UserError } from '../../errors.ts';
import { parseYaml } from '../../yaml/parse.ts';
import { z } from 'zod';

const actionSchema = z.object({
  inputs: z.record(z.string(), z.object({ default: z.union([z.string(), z.number(), z.boolean()]).optional() })),
});

/** Stands for a token where there is none: nobody is asked anything with it. */
const NO_TOKEN = 'no-token';

/**
 * What a run at home is set to: the action's inputs, their defaults from action.yml, and over them what was given on the
 * command line. The one place where its texts become a Config; throws a UserError that lists every problem.
 */
export function readSettings({
  actionYml,
  given,
  temp,
}: {
  readonly actionYml: string;
  readonly given: Readonly<Record<string, string>>;
  readonly temp: string;
}): Config {
  const texts = { ...defaultsOf(actionYml), ...given, 'github-token': NO_TOKEN, 'handoff-path': temp };
  const config = parseInputs(texts);
  if (config.handoff.phase !== 'all')
    throw new UserError('configuration', '`phase` is for jobs on GitHub: at home a run is all of it.');
  return {
    ...config,
    githubToken: '',
    // Nobody is notified, and nothing waits for a review on GitHub.
    notify: { kind: 'none' },
    maxOpenPrs: 0,
    stateStore: 'auto',
  };
}

/** The defaults as texts; expressions are GitHub's, and each of them is set here. */
function defaultsOf(actionYml: string): Record<string, string> {
  const parsed = parseYaml(actionYml);
  const read = actionSchema.safeParse(parsed.kind === 'data' ? parsed.data : null);
  if (!read.success)
    throw new UserError(
      'infrastructure',
      'action.yml, which holds the defaults of all inputs, cannot be read. Install ralph again.',
    );
  return Object.fromEntries(
    Object.entries(read.data.inputs).flatMap(([name, { default: value }]) =>
      KEYS.has(name) ? [] : [[name, String(value ?? '')]],
    ),
  );
}

/** At home they come from the environment. */
const KEYS: ReadonlySet<string> = new Set(['anthropic-api-key', 'claude-code-oauth-token']);
