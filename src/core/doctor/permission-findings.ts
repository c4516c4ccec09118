import { listFirstNames } from '../text/phrase.ts';
import { type ExaminedStep, buildSettingsUrl, pickRepositorySetting } from './examined-step.ts';
import { okFinding, problemFinding, createRemedy, uncheckedFinding, type Finding } from './finding.ts';
import { callsRalph, logsInWithoutKey, type RalphStep } from './workflow.ts';

const WRITE_RIGHTS = ['contents', 'issues', 'pull-requests'];
/** The rights that a token needs to read failed checks, commit statuses and the logs of failed jobs. */
export const READ_RIGHTS = ['checks', 'statuses', 'actions'] as const;

/** Checks that the job's token may write contents, issues and pull requests. */
export function checkTokenPermissions({ step, repository }: ExaminedStep): Finding {
  const own = ownTokenOf(step);
  // GitHub starts the reusable workflow only if the caller's job has all rights that the workflow's jobs request, so a
  // token of its own does not replace them there.
  if (own !== null && !callsRalph(step.action)) return ownTokenFinding('permissions', own);
  const { permissions: given } = step;
  const rights = logsInWithoutKey(step.action) ? [...WRITE_RIGHTS, 'id-token'] : WRITE_RIGHTS;
  const paste = [
    'permissions:',
    ...rights.map((name) => `  ${name}: write`),
    ...READ_RIGHTS.map((name) => `  ${name}: read`),
  ].join('\n');
  if (given.kind !== 'absent') {
    const lacking = rights.filter((name) =>
      given.kind === 'all' ? given.level !== 'write-all' : given.levels[name] !== 'write',
    );
    return lacking.length === 0
      ? okFinding('permissions', 'The workflow may write contents, issues and pull requests.')
      : problemFinding(
          'permissions',
          `The workflow lacks ${listFirstNames(lacking.map((name) => `\`${name}: write\``))}.`,
          createRemedy('Set its permissions.', { paste }),
        );
  }
  const token = pickRepositorySetting(repository, 'token');
  if (token.kind === 'unknown')
    return uncheckedFinding(
      'permissions',
      `Could not check the repository's default permissions, which apply because the workflow sets none: ${token.why}`,
      createRemedy('Set its permissions.', { paste }),
    );
  return token.value.writes
    ? okFinding('permissions', "The repository's default lets workflows write.")
    : problemFinding(
        'permissions',
        "The workflow has no `permissions`, and the repository's default lets workflows only read.",
        createRemedy('Set its permissions.', { paste }),
      );
}

/** Checks that the repository lets GitHub Actions create pull requests. */
export function checkPullRequestSetting({ step, repository }: ExaminedStep): Finding {
  const own = ownTokenOf(step);
  if (own !== null) return ownTokenFinding('pull-requests', own);
  const link = buildSettingsUrl(repository, 'settings/actions');
  const setting = '“Allow GitHub Actions to create and approve pull requests”';
  const token = pickRepositorySetting(repository, 'token');
  if (token.kind === 'unknown')
    return uncheckedFinding(
      'pull-requests',
      `Could not check ${setting}: ${token.why}`,
      createRemedy('Make sure that it is turned on.', { link }),
    );
  return token.value.mayOpenPullRequests
    ? okFinding('pull-requests', 'GitHub Actions may create pull requests.')
    : problemFinding(
        'pull-requests',
        `${setting} is turned off.`,
        createRemedy('Turn it on. In an organization it may have to be allowed there first.', { link }),
      );
}

/** Returns true if the step uses a token other than the token of the job. */
export function hasOwnToken(step: RalphStep): boolean {
  return ownTokenOf(step) !== null;
}

/** Returns the name of the input or secret that replaces the job's token, or null if none. */
function ownTokenOf({ action, inputs }: RalphStep): string | null {
  // The reusable workflow prefers a GitHub App to a token. A step with the action has neither of these secrets, so only
  // its input decides.
  const names = callsRalph(action) ? ['app-client-id', 'token'] : ['github-token'];
  const isOwn = (text: string): boolean => text !== '' && !/github\.token|secrets\.GITHUB_TOKEN/i.test(text);
  return names.find((name) => isOwn(inputs[name] ?? '')) ?? null;
}

function ownTokenFinding(check: 'permissions' | 'pull-requests', name: string): Finding {
  return uncheckedFinding(
    check,
    `The workflow passes a token of its own as \`${name}\`, whose permissions could not be checked.`,
    createRemedy(
      'Make sure that it may write contents, issues and pull requests, and read checks, commit statuses and actions.',
      {},
    ),
  );
}
