import {
  createUnknownSettings,
  type AskedValue,
  type BranchRule,
  type RepositorySettings,
} from '../core/doctor/facts.ts';
import { getErrorText as textOfError, UserError } from '../errors.ts';
import type { SettingsQuery } from '../ports/forge.ts';
import type { Client, Octokit, RepositoryName } from './client.ts';
import { readHttpStatus } from './errors.ts';

type BranchName = RepositoryName & { readonly branch: string };

/** Reads a repository's settings and changes nothing; settings that the token may not read are unknown. */
export async function readRepositorySettings(client: Client, query: SettingsQuery): Promise<RepositorySettings> {
  const ask = <T>(needs: string, call: (octokit: Octokit, at: RepositoryName) => Promise<T>): Promise<AskedValue<T>> =>
    tryAsking(client, { what: 'it', needs }, call);
  // GitHub answers 404 for everything in a repository that the token cannot see, so ask for the repository first.
  const seen = await tryAsking(
    client,
    { what: 'the repository does not exist, or it', needs: 'Metadata: read' },
    ({ rest }, at) => rest.repos.get({ ...at }),
  );
  if (seen.kind === 'unknown') return createUnknownSettings(seen.why);
  const [token, secrets, hasLabel, workflows, onDefaultBranch, inTheWay, branchRules, branchProtection, pushRulesets] =
    await Promise.all([
      ask('Administration: read', async ({ rest }, at) => {
        const { data } = await rest.actions.getGithubActionsDefaultWorkflowPermissionsRepository({ ...at });
        return {
          writes: data.default_workflow_permissions === 'write',
          mayOpenPullRequests: data.can_approve_pull_request_reviews,
        };
      }),
      ask('Secrets: read', secretNames),
      ask('Issues: read', ({ rest }, at) =>
        query.label === null
          ? Promise.resolve(false)
          : isThere(() => rest.issues.getLabel({ ...at, name: query.label ?? '' })),
      ),
      ask('Actions: read', async (octokit, at) => {
        const found = await octokit.paginate(octokit.rest.actions.listRepoWorkflows, { ...at, per_page: 100 });
        return found.map(({ path, state }) => ({ path, state }));
      }),
      ask('Contents: read', async (octokit, at) => {
        // Send no ref, so that GitHub answers for the default branch.
        const texts = query.workflows.map(async (path) => [path, await fileTextOf(octokit, { ...at, path })] as const);
        return Object.fromEntries(await Promise.all(texts));
      }),
      ask('Contents: read', async (octokit, at) => {
        const existing = await namesAround(octokit, { ...at, branches: query.branches });
        return query.branches.map((branch) => ({ branch, existing }));
      }),
      ask('Metadata: read', async (octokit, at) => {
        const found = await Promise.all(query.branches.map((branch) => rulesOf(octokit, { ...at, branch })));
        return distinctRules(found.flat());
      }),
      ask('Administration: read', async (octokit, at) => {
        const found = await Promise.all(query.branches.map((branch) => protectionOf(octokit, { ...at, branch })));
        const seen = found.filter((types) => types !== null);
        return seen.length === 0 ? null : [...new Set(seen.flat())];
      }),
      ask('Metadata: read', async ({ rest }, at) => {
        const { data } = await rest.repos.getRepoRulesets({
          ...at,
          includes_parents: true,
          targets: 'push',
          per_page: 100,
        });
        return data.filter(({ enforcement }) => enforcement === 'active').map(({ id, name }) => ({ id, name }));
      }),
    ]);
  return {
    ...{ token, secrets, hasLabel, workflows, onDefaultBranch, inTheWay, branchRules, branchProtection, pushRulesets },
  };
}

async function tryAsking<T>(
  client: Client,
  { what, needs }: { readonly what: string; readonly needs: string },
  call: (octokit: Octokit, at: RepositoryName) => Promise<T>,
): Promise<AskedValue<T>> {
  try {
    return await client.ask({ doing: 'read the settings', needs: [needs] }, async (octokit, at) => {
      try {
        return { kind: 'known', value: await call(octokit, at) } as const;
      } catch (error) {
        if (!isForbidden(error)) throw error;
        return { kind: 'unknown', why: `${what} cannot be seen with this token (that takes \`${needs}\`).` } as const;
      }
    });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { kind: 'unknown', why: error.message };
  }
}

/** Returns true if GitHub hides something from the token. A rate limit also has status 403, but hides nothing. */
function isForbidden(error: unknown): boolean {
  const status = readHttpStatus(error);
  return (
    status === 404 ||
    (status === 403 && error instanceof Error && /not accessible|admin|permission|access/i.test(error.message))
  );
}

async function secretNames(octokit: Octokit, at: RepositoryName): Promise<readonly string[]> {
  const { actions } = octokit.rest;
  const own = await octokit.paginate(actions.listRepoSecrets, { ...at, per_page: 100 });
  const ofOrganization = await octokit.paginate(actions.listRepoOrganizationSecrets, { ...at, per_page: 100 });
  return [...own, ...ofOrganization].map(({ name }) => name.toUpperCase());
}

async function isThere(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    if (!isAbsent(error)) throw error;
    return false;
  }
}

/** Returns true if something does not exist, as opposed to being hidden from this token. */
function isAbsent(error: unknown): boolean {
  return readHttpStatus(error) === 404 && !/not accessible/i.test(textOfError(error));
}

/** Returns the names of branches that share their first part with one of these branches. */
async function namesAround(
  { rest }: Octokit,
  { branches, ...at }: RepositoryName & { readonly branches: readonly string[] },
): Promise<readonly string[]> {
  const starts = [...new Set(branches.map((branch) => branch.split('/', 1)[0] ?? branch))];
  const found = await Promise.all(starts.map((start) => rest.git.listMatchingRefs({ ...at, ref: `heads/${start}` })));
  return found.flatMap(({ data }) => data.map(({ ref }) => ref.slice('refs/heads/'.length)));
}

async function rulesOf(octokit: Octokit, branch: BranchName): Promise<readonly BranchRule[]> {
  const found = await octokit.paginate(octokit.rest.repos.getBranchRules, { ...branch, per_page: 100 });
  return found.map(({ type, ruleset_id, ruleset_source, ruleset_source_type }) => ({
    type,
    ruleset: ruleset_id ?? 0,
    source: ruleset_source ?? '',
    ofOrganization: ruleset_source_type === 'Organization',
  }));
}

/** Returns the rules without duplicates, which come from rules that apply to several branches. */
function distinctRules(rules: readonly BranchRule[]): readonly BranchRule[] {
  const byRule = new Map(rules.map((rule) => [`${rule.type} ${String(rule.ruleset)}`, rule]));
  return [...byRule.values()];
}

/**
 * Returns the rules of a classic branch protection, by the names that rulesets use; returns null if the branch does not
 * exist yet, because GitHub does not report its rules then.
 */
async function protectionOf({ rest }: Octokit, branch: BranchName): Promise<readonly string[] | null> {
  try {
    const { data } = await rest.repos.getBranchProtection({ ...branch });
    const isRestricted = data.restrictions?.apps.every(({ slug }) => slug !== 'github-actions') ?? false;
    const isLocked = data.lock_branch?.enabled === true || isRestricted;
    return [
      ...(isLocked ? ['update'] : []),
      ...(data.required_pull_request_reviews === undefined ? [] : ['pull_request']),
      ...(data.required_status_checks === undefined ? [] : ['required_status_checks']),
      ...(data.required_signatures?.enabled === true ? ['required_signatures'] : []),
      ...(data.allow_deletions?.enabled === true ? [] : ['deletion']),
    ];
  } catch (error) {
    const words = textOfError(error);
    if (readHttpStatus(error) !== 404) throw error;
    if (/branch not protected/i.test(words)) return [];
    if (/branch not found/i.test(words)) return null;
    throw error;
  }
}

/** Returns a file's text, or null if the file does not exist. */
async function fileTextOf({ rest }: Octokit, file: RepositoryName & { readonly path: string }): Promise<string | null> {
  try {
    const { data } = await rest.repos.getContent({ ...file });
    return !Array.isArray(data) && data.type === 'file' && 'content' in data
      ? Buffer.from(data.content, 'base64').toString()
      : null;
  } catch (error) {
    if (!isAbsent(error)) throw error;
    return null;
  }
}
