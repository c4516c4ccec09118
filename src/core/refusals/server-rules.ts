/**
 * The subject of a refusal (spec §10). `content`: the content of the commits. `branch`: the pusher, the kind of commit
 * or the branch. `name`: another ref blocks the name. `stale`: somebody pushed first. `transient`: the server gave no
 * answer or failed.
 */
export type RefusalKind = 'content' | 'branch' | 'name' | 'stale' | 'transient';

/** A rule of GitHub's rulesets: its name there, and its effect on Ralph's branches. */
interface RuleType {
  readonly name: string;
  readonly kind: 'problem' | 'warning';
  readonly does: string;
}

/** A rule of a git server. */
export interface ServerRule {
  readonly kind: RefusalKind;
  readonly rule: string;
  /** The rule in GitHub's rulesets; absent if rulesets do not have it. */
  readonly type?: RuleType;
  /** Matches the words of GitHub or git for a push that breaks the rule. */
  readonly pattern: RegExp;
  readonly meaning: string;
  /** The steps that a person can take; empty if nothing needs to be done. */
  readonly remedy: string;
}

const EXEMPT =
  'Limit the rule to the branches that it is for (Settings → Rules → Rulesets), or add the identity that pushes to its bypass list.';

/** Advice on how to replace a token that GitHub no longer accepts. */
export const RENEW_TOKEN =
  "It has expired or was revoked. `${{ github.token }}` ends with its job, and a GitHub App's token lasts one hour: create it in the same job right before this step. Otherwise set the input `github-token` to a valid one.";

/**
 * Returns a rule that refuses every push of this token. The words of hooks, protections and rulesets never match it.
 */
const createAccessRule = (words: RegExp, meaning: string, remedy: string): ServerRule => ({
  ...{ kind: 'branch', rule: 'access', meaning, remedy },
  pattern: new RegExp(`^(?!.*(?:rate limit|abuse detection|hook declined|GH0\\d\\d)).*?(?:${words.source})`, 'is'),
});

/** Common fields of rules about a branch. */
const BRANCH_FIELDS = { kind: 'branch', remedy: EXEMPT } as const;
/** Common fields of rules about files. */
const FILE_FIELDS = { kind: 'content', remedy: 'The file is left out of the branch.' } as const;

/**
 * The only list of what servers refuse, used to classify refusals and by `ralph doctor`. Within a kind, the first
 * matching row is used.
 */
export const serverRules: readonly ServerRule[] = [
  // Rules about content follow.
  {
    kind: 'content',
    rule: 'secret',
    pattern: /Push cannot contain secrets|GH009|secrets detected|Resolve the following secrets/i,
    meaning: 'Push protection found a secret in the commits.',
    remedy:
      'Remove the secret from the file. If it is real, revoke it: it was written to a disk that an agent can read.',
  },
  {
    kind: 'content',
    rule: 'workflow',
    pattern: /refusing to allow .* to create or update (workflow|\S*\.github\/)/is,
    meaning: 'This token may not change files in .github/workflows, and GITHUB_TOKEN never may.',
    remedy:
      'Use the token of a GitHub App or a person with the "workflows" permission, or leave these files out of allow-protected-paths.',
  },
  {
    kind: 'content',
    rule: 'large-file',
    pattern: /GH001|exceeds GitHub's file size limit|pack exceeds maximum allowed size|HTTP 413\b/i,
    meaning: 'A file is larger than GitHub accepts.',
    remedy: 'Leave it out of the commits, or store it with git-lfs.',
  },
  {
    ...FILE_FIELDS,
    rule: 'lfs',
    pattern: /GH008|unknown Git LFS object/i,
    meaning: 'The commits name git-lfs files that were never uploaded.',
  },
  {
    ...FILE_FIELDS,
    rule: 'file-path',
    type: { name: 'file_path_restriction', kind: 'warning', does: 'refuses changes to some files' },
    pattern: /file paths? (is|are) (restricted|not allowed)|restricted file path|file_path_restriction/i,
    meaning: 'A rule of the repository restricts this path.',
  },
  {
    ...FILE_FIELDS,
    rule: 'path-length',
    type: { name: 'max_file_path_length', kind: 'warning', does: 'refuses long paths' },
    pattern:
      /file paths? (is|are) too long|file paths? can ?not be greater|(maximum|max) (file )?path length|path length exceeds|max_file_path_length/i,
    meaning: 'A rule of the repository limits the length of paths.',
  },
  {
    ...FILE_FIELDS,
    rule: 'file-extension',
    type: { name: 'file_extension_restriction', kind: 'warning', does: 'refuses some kinds of files' },
    pattern:
      /file extensions? (\S+ )?(is|are) (restricted|not allowed)|restricted file extension|file_extension_restriction/i,
    meaning: 'A rule of the repository forbids this kind of file.',
  },
  {
    ...FILE_FIELDS,
    rule: 'file-size',
    type: { name: 'max_file_size', kind: 'warning', does: 'refuses large files' },
    pattern:
      /file size (can ?not exceed|exceeds|is larger|limit)|files? (is|are) (too large|larger than)|(maximum|max) file size|max_file_size/i,
    meaning: 'A rule of the repository limits the size of files.',
  },
  // Rules about names follow.
  {
    kind: 'name',
    rule: 'name-in-the-way',
    pattern:
      /directory file conflict|there are still refs under|cannot lock ref '[^']*': '[^']*' exists; cannot create|cannot process '[^']*' and '[^']*' at the same time|file exists in the way|case-insensitive/i,
    meaning: 'Another branch has a name that git does not allow beside this one.',
    remedy: 'Rename or delete that branch, or choose another `branch-prefix`.',
  },
  // Rules about branches follow.
  {
    kind: 'branch',
    rule: 'branch-name',
    type: { name: 'branch_name_pattern', kind: 'warning', does: 'may refuse the name of the branch' },
    pattern: /branch name (must|does not|is not)|ref name (must|does not)|branch_name_pattern/i,
    meaning: 'A rule of the repository does not allow this branch name.',
    remedy: 'Choose a `branch-prefix` that it allows.',
  },
  {
    ...BRANCH_FIELDS,
    rule: 'creation',
    type: { name: 'creation', kind: 'problem', does: 'refuses new branches' },
    pattern: /creations? (being|is|are) restricted|cannot create (this )?(ref|branch)|matching branches.*creat/i,
    meaning: 'A rule of the repository forbids this token to create the branch.',
  },
  {
    kind: 'branch',
    rule: 'deletion',
    type: {
      name: 'deletion',
      kind: 'warning',
      does: 'keeps the branch after its pull request is merged, so that the next work begins on it',
    },
    pattern:
      /cannot delete (this|a) (protected )?(branch|ref)|deletion (of .* )?prohibited|denying ref deletion|deletions? (being|is|are) restricted/i,
    meaning: 'A rule of the repository forbids deleting the branch.',
    remedy: 'Nothing needs to be done: the next work begins without deleting it.',
  },
  {
    kind: 'branch',
    rule: 'signatures',
    type: { name: 'required_signatures', kind: 'problem', does: 'refuses commits without a signature' },
    pattern: /must have (verified|valid) signatures|commits? must be signed(?![ -]?off)|unsigned commits?/i,
    meaning: 'A rule of the repository requires signed commits, and not all of these are signed.',
    remedy: `GitHub signs Ralph's own commits unless \`sign-commits\` is \`false\`, but not other people's commits that a merge of the base brings. ${EXEMPT}`,
  },
  {
    kind: 'branch',
    rule: 'linear-history',
    type: {
      name: 'required_linear_history',
      kind: 'warning',
      does: 'refuses merges of the base, so that a conflict must be resolved by a person',
    },
    pattern: /must not contain merge commits|merge commits are not allowed|requires? (a )?linear history/i,
    meaning: 'A rule of the repository requires a linear history, so the branch cannot take a merge of its base.',
    remedy: `Merge or close the pull request, or ${lowerFirst(EXEMPT)}`,
  },
  {
    kind: 'branch',
    rule: 'author',
    type: { name: 'commit_author_email_pattern', kind: 'warning', does: 'may refuse the author of commits' },
    pattern:
      /\bauthor('s)? (e-?mail\b|name\b.* must)|expected author|commit_author_email_pattern|author .* (is )?not allowed/i,
    meaning: "A rule of the repository does not accept the author of Ralph's commits.",
    remedy: `Use a token whose account the rule accepts, or ${lowerFirst(EXEMPT)}`,
  },
  {
    kind: 'branch',
    rule: 'committer',
    type: { name: 'committer_email_pattern', kind: 'warning', does: 'may refuse the committer of commits' },
    pattern: /\bcommitter('s)? (e-?mail|name)\b|committer_email_pattern|committer .* (is )?not allowed/i,
    meaning: "A rule of the repository does not accept the committer of Ralph's commits.",
    remedy: `Use a token whose account the rule accepts, or ${lowerFirst(EXEMPT)}`,
  },
  {
    kind: 'branch',
    rule: 'private-email',
    pattern: /GH007|publish a private e-?mail address|email privacy restrictions/i,
    meaning: 'The account of the token keeps its email address private, and the commits name it.',
    remedy: "Use the account's noreply address or another token.",
  },
  {
    ...BRANCH_FIELDS,
    rule: 'message',
    type: { name: 'commit_message_pattern', kind: 'warning', does: 'may refuse commit messages' },
    pattern: /commit messages? (must|does not|do not|is|are)|commit_message_pattern/i,
    meaning: "A rule of the repository does not accept the messages of Ralph's commits.",
  },
  {
    ...BRANCH_FIELDS,
    rule: 'deployments',
    type: { name: 'required_deployments', kind: 'warning', does: 'may refuse pushes before a deployment' },
    pattern: /required deployments?|must be (successfully )?deployed/i,
    meaning: 'A rule of the repository requires a deployment before a push.',
  },
  {
    ...BRANCH_FIELDS,
    rule: 'status-checks',
    type: { name: 'required_status_checks', kind: 'problem', does: 'refuses pushes before checks have passed' },
    pattern: /required status checks?/i,
    meaning: 'A rule of the repository requires checks to pass before a push, which no new commit can have.',
  },
  {
    ...BRANCH_FIELDS,
    rule: 'required-workflows',
    type: { name: 'workflows', kind: 'warning', does: 'may refuse pushes before required workflows have passed' },
    pattern: /required workflows?/i,
    meaning: 'A rule of the repository requires workflows to pass before a push, which no new commit can have.',
  },
  {
    ...BRANCH_FIELDS,
    rule: 'code-scanning',
    type: { name: 'code_scanning', kind: 'warning', does: 'may refuse pushes before code scanning' },
    pattern: /code scanning (is|results?|alerts?)|waiting for code scanning/i,
    meaning: 'A rule of the repository requires code scanning before a push.',
  },
  {
    ...BRANCH_FIELDS,
    rule: 'pull-request',
    type: { name: 'pull_request', kind: 'problem', does: 'refuses pushes without a pull request' },
    pattern: /changes must be made through a pull request|approving reviews? (is|are) required/i,
    meaning: 'A rule of the repository allows changes to this branch only through pull requests.',
  },
  {
    ...BRANCH_FIELDS,
    rule: 'merge-queue',
    type: { name: 'merge_queue', kind: 'problem', does: 'refuses pushes that bypass the merge queue' },
    pattern: /changes must be made through the merge queue/i,
    meaning: 'A rule of the repository allows changes to this branch only through the merge queue.',
  },
  {
    ...BRANCH_FIELDS,
    rule: 'update',
    type: { name: 'update', kind: 'problem', does: 'refuses pushes' },
    pattern:
      /cannot update this protected ref|updates? (being|is|are) restricted|not authorized to push to this branch|branch is locked|cannot change this locked branch/i,
    meaning: 'A rule of the repository forbids this token to update the branch.',
  },
  {
    ...BRANCH_FIELDS,
    rule: 'force-push',
    pattern: /GH003|cannot force-push|denying non-fast-forward/i,
    meaning: 'A rule of the repository forbids rewriting the branch.',
  },
  createAccessRule(
    /archived so it is read-only|(is|was) archived|locked for migration|(repository|'[^']*'|has been|is) disabled\b|(returned error:|HTTP) 30[1278]\b/i,
    'The repository accepts no pushes, because it is archived, locked, disabled, or renamed while this run worked.',
    'Unarchive it, or switch the workflow off; after a renaming, a new run knows the new name.',
  ),
  createAccessRule(
    /SAML SSO|single sign-on/i,
    'The organisation does not accept the token before it is authorised (SAML single sign-on).',
    'Authorise the token for the organisation, or use that of a GitHub App.',
  ),
  createAccessRule(
    /IP allow list/i,
    "The organisation accepts no pushes from this runner's address.",
    'Add the address to its IP allow list, or use a runner with an address on it.',
  ),
  createAccessRule(
    /(returned error:|HTTP) 401\b|invalid username or (token|password)|could not read Username|authentication failed/i,
    'The server does not accept the token.',
    RENEW_TOKEN,
  ),
  createAccessRule(
    /(returned error:|HTTP) 403\b|permission [^;\n]*denied|(?<!temporarily )read-only(?! file system)|write access [^\n]*not granted|not authorized to push|repository\s+(?:'[^'\n]*'\s+)?not found/i,
    'The token may not push.',
    'The workflow needs "permissions: contents: write".',
  ),
  {
    kind: 'stale',
    rule: 'moved',
    pattern:
      /non-fast-forward|fetch first|stale info|cannot lock ref|reference already exists|failed to update ref|incorrect old value|remote ref updated since checkout/i,
    meaning: 'The branch changed while this run worked.',
    remedy: 'Nothing was overwritten; the next run continues from there.',
  },
  {
    kind: 'transient',
    rule: 'unreachable',
    pattern:
      /could not resolve|couldn't resolve|(failed|unable|couldn't|could not) to connect|couldn't connect|connection (refused|reset|timed out|was closed)|recv failure|send failure|empty reply|operation timed out|network is unreachable|(returned error:|HTTP) (5\d\d|408)\b|RPC failed; curl \d/i,
    meaning: 'The git server could not be reached.',
    remedy: '',
  },
  {
    kind: 'transient',
    rule: 'breakdown',
    pattern:
      /internal (server )?(connection )?error|unable to migrate objects|unable to create temporary object|something went wrong|fatal error in commit_refs|eof before pack header|deadline exceeded|unicorn|temporarily (unavailable|read-only)|service unavailable|try again later|failure in pre-receive|timeout in pre-receive|no space left on device|read-only file system|disk quota exceeded|api unreachable|not available at this time|unable to handle this request/i,
    meaning: 'The git server failed during the push.',
    remedy: '',
  },
  {
    kind: 'transient',
    rule: 'rate-limit',
    pattern: /(returned error:|HTTP) 429\b|rate limit|too many requests|abuse detection/i,
    meaning: 'The git server limits the rate of requests.',
    remedy: '',
  },
];

/**
 * Returns the effect of a ruleset's rule on Ralph's branches, by GitHub's name for it; null if it lets Ralph's pushes
 * through.
 */
export function findRuleEffect(type: string): RuleType | null {
  return serverRules.find((rule) => rule.type?.name === type)?.type ?? null;
}

/**
 * Returns true if a rule concerns the name of a file, so that the server refuses the file regardless of its content.
 */
export function isForPath(rule: string): boolean {
  return ['workflow', 'file-path', 'path-length', 'file-extension'].includes(rule);
}

/**
 * The rule for a refusal by a protection that names none of the rules above. Refusals by those rules contain these
 * words as well, so they are matched first.
 */
export const unnamedProtection: ServerRule = {
  ...BRANCH_FIELDS,
  rule: 'protection',
  pattern: /GH006|GH013|protected branch|rule violations|ruleset/i,
  meaning: 'A branch protection rule or ruleset of the repository forbids this push.',
};

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
