import { parseConfig } from '../../config/inputs.ts';
import type { Config } from '../../config/config.ts';
import { workingFolderOf } from '../../config/fields.ts';
import { readRunSettings, textsWith } from '../../config/settings/run-texts.ts';
import { NO_NAMED_SETTINGS } from '../../config/settings/settings-input.ts';
import { MAX_USAGE_WAIT_MS } from '../../core/agents/providers.ts';
import { UserError } from '../../errors.ts';
import { readSettingsFiles } from '../settings/run-settings.ts';

/** Stands for a token where there is none: nobody is asked anything with it. */
const NO_TOKEN = 'no-token';

/**
 * What a run at home is set to: what was given on the command line, then the environment, the settings file of the branch
 * that it works from, and the defaults. The one place where its texts become a Config; throws a UserError
 * that lists every problem.
 */
export async function readHomeSettings({
  given,
  temp,
  environment,
  top,
  branch,
}: {
  readonly given: Readonly<Record<string, string>>;
  readonly temp: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Of the person's checkout, and the branch that is checked out there; null: none is. */
  readonly top: string;
  readonly branch: string | null;
}): Promise<Config> {
  const texts = { ...given, 'github-token': NO_TOKEN, 'handoff-path': temp };
  const base = await readSettingsFiles(texts, { folder: top, baseBranch: branch, env: environment });
  const settings = readRunSettings(environment, base.kind === 'texts' ? base.read : null, workingFolderOf(texts));
  const config = parseConfig(textsWith({ inputs: texts, named: NO_NAMED_SETTINGS }, settings));
  if (config.handoff.phase !== 'all')
    throw new UserError('configuration', '`phase` is for jobs on GitHub: at home a run is all of it.');
  return {
    ...config,
    githubToken: '',
    // No job's time limit goes on while it waits, and no wait is longer than this.
    policy: { ...config.policy, maxWaitMs: config.policy.onLimit === 'wait' ? MAX_USAGE_WAIT_MS : 0 },
    // Nobody is notified, and nothing waits for a review on GitHub.
    notify: { kind: 'none' },
    maxOpenPrs: 0,
    stateStore: 'auto',
  };
}
