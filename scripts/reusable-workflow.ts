import { KEY_INPUTS } from '../src/core/agent-names.ts';
import { DASHBOARD_MARKER } from '../src/core/dashboard/boxes.ts';
import { INPUT_ROWS, JOB_ROWS, LOGIN_ROWS } from '../src/config/input-rows.ts';
import { SECRET_ROWS } from '../src/config/setting-rows.ts';
import { SECRET_SETTINGS } from '../src/config/setting-table.ts';
import { quoted, withInputs } from './action-yml.ts';

/**
 * The two forms of the reusable workflow. They are files of their own because GitHub checks the permissions of all jobs
 * before a run begins: callers with a stored key do not have to grant `id-token: write`.
 */
export interface WorkflowForm {
  /** The path of the workflow that other repositories call, from the root. */
  readonly reusable: string;
  /** The path of the workflow that it calls for each branch, from the root. */
  readonly branch: string;
  /** True if the job of the loop logs in to the provider itself, and no key is stored. */
  readonly logsIn: boolean;
}
export const WITH_KEYS: WorkflowForm = {
  reusable: '.github/workflows/ralph.yml',
  branch: '.github/workflows/ralph-branch.yml',
  logsIn: false,
};
export const KEYLESS: WorkflowForm = {
  reusable: '.github/workflows/ralph-keyless.yml',
  branch: '.github/workflows/ralph-keyless-branch.yml',
  logsIn: true,
};

/**
 * The folder of the action that the jobs use: GitHub accepts a path in the workflow's own repository at its own commit,
 * but not the root.
 */
const JOB_FOLDER = '.github/actions/job';
/** The path of that action, from the root. */
export const JOB_ACTION = `${JOB_FOLDER}/action.yml`;

/** Renders the same action as `actionYml` in the root, in a folder of its own and with the inputs of one job. */
export function renderJobAction(actionYml: string): string {
  const programs = withInputs(actionYml, [...JOB_ROWS, ...INPUT_ROWS, SECRET_ROWS]).replaceAll(
    /^( {2}(?:main|post): )(dist\/)/gm,
    `$1${'../'.repeat(3)}$2`,
  );
  return `# Generated from action.yml by \`npm run docs\`, for the jobs of ralph.yml: change action.yml, then run it.\n${programs}`;
}

/** Inputs that callers give as secrets. */
const SECRET_INPUTS: readonly string[] = ['github-token', ...KEY_INPUTS];
/** Outputs that say how a run ended. */
const OUTPUTS = ['outcome', 'reason', 'branch', 'head-sha', 'pr-number', 'pr-url', 'cost-usd', 'status-json'];

const CHECKOUT = 'actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1';
const UPLOAD = 'actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1';
const DOWNLOAD = 'actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1';
const APP_TOKEN = 'actions/create-github-app-token@1b10c78c7865c340bc4f6099eb2f838309f1e8c3 # v3.1.1';
const AWS_LOGIN = 'aws-actions/configure-aws-credentials@e6de054238d6b7531b4efff3b6587d9aade6a06c # v6.2.3';
const GOOGLE_LOGIN = 'google-github-actions/auth@7c6bc770dae815cd3e89ee6cdf493a5fab2cc093 # v3.0.0';

/** The longest login in seconds that AWS and Google grant, where a role or a policy allows it. */
const MAX_LOGIN_SECONDS = 43_200;

/**
 * Steps that log in to the one provider that the caller names. They set only outputs, which only the action's step
 * reads: no variables of the job, and no files. The action reports a failed login, together with the run.
 */
const LOGIN_STEPS = String.raw`      # A login lasts as long as this job may, from now on.
      - id: login
        env: { MINUTES: '%{{ inputs.timeout-minutes }}' }
        shell: bash
        run: |
          seconds=$((%{MINUTES%%.*} * 60))
          if [ $seconds -lt 900 ]; then seconds=900; elif [ $seconds -gt ${MAX_LOGIN_SECONDS} ]; then seconds=${MAX_LOGIN_SECONDS}; fi
          printf 'seconds=%s\nends=%s\n' $seconds "$(date -u -d "+$seconds seconds" +%FT%TZ)" >> "$GITHUB_OUTPUT"
      - if: inputs.aws-role != ''
        id: aws
        continue-on-error: true
        uses: ${AWS_LOGIN}
        with: {
          role-to-assume: '%{{ inputs.aws-role }}', aws-region: '%{{ inputs.aws-region }}', role-duration-seconds: '%{{ steps.login.outputs.seconds }}',
          output-credentials: true, output-env-credentials: false, retry-max-attempts: 3 }
      - if: inputs.google-workload-identity-provider != ''
        id: google
        continue-on-error: true
        uses: ${GOOGLE_LOGIN}
        with: {
          workload_identity_provider: '%{{ inputs.google-workload-identity-provider }}', service_account: '%{{ inputs.google-service-account }}',
          project_id: '%{{ inputs.google-project }}', token_format: access_token, access_token_lifetime: '%{{ steps.login.outputs.seconds }}s',
          create_credentials_file: false, export_environment_variables: false }
      # Anthropic has no action that only logs in. How long its login lasts is part of the rule.
      - if: inputs.anthropic-federation-rule != ''
        id: anthropic
        continue-on-error: true
        env: {
          RULE: '%{{ inputs.anthropic-federation-rule }}', ORGANIZATION: '%{{ inputs.anthropic-organization }}',
          ACCOUNT: '%{{ inputs.anthropic-service-account }}', WORKSPACE: '%{{ inputs.anthropic-workspace }}' }
        shell: bash
        run: |
          valueOf() { sed -n 's/.*"'"$1"'" *: *"\{0,1\}\([^",} ]*\).*/\1/p'; }
          [[ "$RULE$ORGANIZATION$ACCOUNT$WORKSPACE" =~ ^[A-Za-z0-9_-]+$ ]] || { echo '::error::An input of the login to Anthropic is not an ID.'; exit 1; }
          identity=$(curl -fsS --retry 3 -K - "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=https%3A%2F%2Fapi.anthropic.com" <<< "header = \"Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN\"" | valueOf value)
          optional=%{ACCOUNT:+',"service_account_id":"'"$ACCOUNT"'"'}%{WORKSPACE:+',"workspace_id":"'"$WORKSPACE"'"'}
          answer=$(printf '{"grant_type":"urn:ietf:params:oauth:grant-type:jwt-bearer","assertion":"%s","federation_rule_id":"%s","organization_id":"%s"%s}' "$identity" "$RULE" "$ORGANIZATION" "$optional" |
            curl -fsS -H 'content-type: application/json' -H 'anthropic-beta: oauth-2025-04-20,oidc-federation-2026-04-01' -d @- https://api.anthropic.com/v1/oauth/token)
          token=$(valueOf access_token <<< "$answer")
          [ -n "$token" ]
          echo "::add-mask::$token"
          printf 'token=%s\nends=%s\n' "$token" "$(date -u -d "+$(valueOf expires_in <<< "$answer") seconds" +%FT%TZ)" >> "$GITHUB_OUTPUT"
`.replaceAll('%{', '${');

/** Results of the login steps, only for the action's step; empty for providers that the caller does not name. */
const LOGGED_IN = `
        env: {
          CLAUDE_CODE_USE_BEDROCK: "\${{ steps.aws.outputs.aws-access-key-id && '1' || '' }}", AWS_REGION: '\${{ inputs.aws-region || env.AWS_REGION }}',
          AWS_ACCESS_KEY_ID: '\${{ steps.aws.outputs.aws-access-key-id }}', AWS_SECRET_ACCESS_KEY: '\${{ steps.aws.outputs.aws-secret-access-key }}',
          AWS_SESSION_TOKEN: '\${{ steps.aws.outputs.aws-session-token }}',
          CLAUDE_CODE_USE_VERTEX: "\${{ steps.google.outputs.access_token && '1' || '' }}", CLOUD_ML_REGION: '\${{ inputs.google-region }}',
          ANTHROPIC_VERTEX_PROJECT_ID: '\${{ inputs.google-project || steps.google.outputs.project_id }}', CLOUDSDK_AUTH_ACCESS_TOKEN: '\${{ steps.google.outputs.access_token }}' }`;
const LOGIN_ENDS =
  "${{ steps.aws.outputs.aws-expiration || steps.google.outputs.access_token && steps.login.outputs.ends || steps.anthropic.outputs.ends || 'none' }}";

/** Steps that make a token of the caller's GitHub App, if there is one. */
const APP_STEPS = `      - if: env.APP != ''
        id: app
        uses: ${APP_TOKEN}
        with: { client-id: '\${{ secrets.app-client-id }}', private-key: '\${{ secrets.app-private-key }}' }`;
const APP_ENV = `    env: { APP: '\${{ secrets.app-client-id }}' }`;
const TOKEN = 'steps.app.outputs.token || secrets.token || github.token';

/**
 * A step that sets the variables of the secret `env` for the steps after it. Very short values are not masked, because
 * the mask would hide much of the log.
 */
const ENV_STEP = `      - name: Set the variables of the secret env
        env: { VARIABLES: '\${{ secrets.env }}' }
        shell: bash
        run: while IFS= read -r line; do value="\${line#*=}"; [ "\${#value}" -lt 8 ] || echo "::add-mask::$value"; [ -z "$line" ] || echo "$line" >> "$GITHUB_ENV"; done <<< "$VARIABLES"`;

/** A step that sets the variables for a collector of traces in the gate, which needs no other variables. */
const OTEL_STEP = ENV_STEP.replace('the variables of', 'the OTEL_ variables of').replace(
  '[ -z "$line" ]',
  '[ "${line#OTEL_}" = "$line" ]',
);

/** The default branch for events of a pull request, and the event's own ref for all others. */
const REF = "${{ github.event.pull_request && github.event.repository.default_branch || '' }}";

/** Returns entries of a flow mapping, a few on each line. */
function flowLines(
  entries: readonly string[],
  { indent, perLine }: { readonly indent: number; readonly perLine: number },
): string {
  return entries
    .flatMap((_, at) => (at % perLine === 0 ? [entries.slice(at, at + perLine).join(', ')] : []))
    .map((line) => `${' '.repeat(indent)}${line}`)
    .join(',\n');
}

/** A label, or a list of them as JSON. */
const RUNS_ON = "${{ startsWith(inputs.runs-on, '[') && fromJSON(inputs.runs-on) || inputs.runs-on }}";

/** Returns the value of each output as an entry of a flow mapping. */
function outputEntries(valueOf: (name: string) => string): readonly string[] {
  return OUTPUTS.map((name) => `${name}: ${valueOf(name)}`);
}

const KEYS = KEY_INPUTS.map((name) => `${name}: '\${{ secrets.${name} }}'`);
/** Secrets of the jobs that notify people. */
const WEBHOOK = SECRET_SETTINGS.map((name) => `${name}: '\${{ secrets.${name} }}'`);

/** Declares secrets that a caller may leave out. */
function optionalSecrets(logsIn: boolean): string {
  const names = [...(logsIn ? [] : KEY_INPUTS), ...SECRET_SETTINGS];
  return flowLines(
    names.map((name) => `${name}: { required: false }`),
    { indent: 6, perLine: 3 },
  );
}

const LOGIN_INPUTS = LOGIN_ROWS.map(([name]) => name);
const OF_STEP = flowLines(
  outputEntries((name) => `'\${{ steps.ralph.outputs.${name} }}'`),
  { indent: 6, perLine: 3 },
);
const TO_STEP = `,
${flowLines(KEYS, { indent: 10, perLine: 3 })}`;

/** The folder of the hand-over, which has a folder of the same name for each branch. */
const HANDOFF = '${{ runner.temp }}/ralph-handoff';

const ABOUT_KEYS = `# A run in three jobs, for other repositories to call. The agent works in the job \`loop\` of ralph-branch.yml, which holds its key
# and a token that can only read this repository. \`gate\`, \`publish\` and \`finish\` hold the token that can write: no agent runs
# there, and no code of the branch.`;
const ABOUT_KEYLESS = `# A run in three jobs, for other repositories to call. The agent works in the job \`loop\` of ralph-keyless-branch.yml. It alone takes
# \`id-token: write\`, to log in to the model's provider without a stored key, and holds a token that can only read this repository.
# \`gate\`, \`publish\` and \`finish\` hold the token that can write: no agent runs there, and no code of the branch.`;

/** Renders a reusable workflow, whose inputs and their defaults are those of action.yml. */
export function renderReusableWorkflow({ branch, logsIn }: WorkflowForm): string {
  const declared = INPUT_ROWS.flatMap(({ rows }) => rows)
    .filter(([name]) => !SECRET_INPUTS.includes(name))
    .map(([name, text]) => `${name}: { type: string, default: ${quoted(text)} }`);
  // Outputs of several branches would overwrite each other, so the last job sets the outputs of the run.
  const ofRun = flowLines(
    outputEntries(
      (name) =>
        `{ value: "\${{ !contains(jobs.gate.outputs.handoff-branches, ',') && (jobs.branch.outputs.${name} || jobs.gate.outputs.${name}) || jobs.finish.outputs.${name} }}" }`,
    ),
    { indent: 6, perLine: 1 },
  );
  const passed = flowLines(
    [
      ...(logsIn ? [] : KEYS),
      ...WEBHOOK,
      ...['token', 'app-client-id', 'app-private-key', 'env'].map((name) => `${name}: '\${{ secrets.${name} }}'`),
    ],
    { indent: 6, perLine: 3 },
  );
  const ofLogin = LOGIN_ROWS.map(
    ([name, text, what]) => `${name}: { type: string, default: ${quoted(text)}, description: ${quoted(what)} }`,
  );
  const given = LOGIN_INPUTS.map((name) => `${name}: '\${{ inputs.${name} }}'`);
  return `# Generated by \`npm run docs\`: change scripts/reusable-workflow.ts, then run it.
#
${logsIn ? ABOUT_KEYLESS : ABOUT_KEYS}
name: ralph (reusable${logsIn ? ', without stored keys' : ''})

on:
  workflow_call:
    inputs: {
      runs-on: { type: string, default: ubuntu-latest, description: 'Label of the runners, or a list of labels as JSON' },
      timeout-minutes: { type: string, default: '60', description: 'Time limit of the job with the agent; at least 10 more than max-minutes' },
${logsIn ? `${flowLines(ofLogin, { indent: 6, perLine: 1 })},\n` : ''}${flowLines(declared, { indent: 6, perLine: 2 })} }
    secrets: {
${optionalSecrets(logsIn)},
      token: { required: false, description: 'A token for issues, branch and pull request instead of the one of the job' },
      app-client-id: { required: false, description: 'Client ID of a GitHub App to use instead of token' }, app-private-key: { required: false },
      env: { required: false, description: 'Variables for the set-up steps and the agent, one NAME=VALUE on each line' } }
    outputs: {
${ofRun} }

permissions: {}

jobs:
  gate:
    # What starts a runner: a comment that may be for Ralph; an issue or a label about a task; a ticked box of the dashboard;
    # a review, a reply or a failed check on one of Ralph's branches. Not the single comments of a review, which come with
    # it, nor Ralph's own answers; if a GitHub App opened the pull request, such an answer arrives as a review without text.
    if: >-
      startsWith(github.event.comment.body, '/ralph') || startsWith(github.event.comment.body, '\`/ralph') ||
      startsWith(github.event.comment.body, '**/ralph') || (github.event.issue.pull_request &&
      github.event.issue.user.type == 'Bot' && startsWith(github.event.comment.body, '@')) || github.event.label.name == inputs.task-label ||
      github.event.label.name == format('{0}:plan', inputs.task-label) || (
      github.event.issue && !github.event.comment && !github.event.label && (contains(github.event.issue.labels.*.name, inputs.task-label) ||
      (github.event.action == 'closed' && contains(join(github.event.issue.labels.*.name), 'ralph:')) ||
      (startsWith(github.event.issue.body, '${DASHBOARD_MARKER}') && contains(github.event.issue.body, '- [x] ')))) || (
      !github.event.issue && (!github.event.comment || github.event.comment.in_reply_to_id) &&
      !startsWith(github.event.comment.body, '<!-- ralph-action:') &&
      !(github.event.review && !github.event.review.body && github.event.sender.type == 'Bot' &&
      github.event.sender.login == github.event.pull_request.user.login) &&
      startsWith(github.event.pull_request.head.ref || inputs.branch-prefix, inputs.branch-prefix) &&
      startsWith(github.event.workflow_run.head_branch || github.event.check_suite.head_branch || inputs.branch-prefix, inputs.branch-prefix) &&
      (github.event.workflow_run.conclusion || github.event.check_suite.conclusion) != 'success')
    runs-on: ${RUNS_ON}
    timeout-minutes: 15
    permissions:
      contents: write # make the branches, keep the state on refs/ralph/v2/
      issues: write # read issues, react, keep the status comment
      pull-requests: write # read the pull request and its reviews
      checks: read # see which checks of the pull request failed, and why
      statuses: read # the same for CI that sets commit statuses
      actions: read # read the log of a failed job
    outputs: {
      handed-over: '\${{ steps.ralph.outputs.handed-over }}', handoff-digest: '\${{ steps.ralph.outputs.handoff-digest }}', handoff-parallel: '\${{ steps.ralph.outputs.handoff-parallel }}',
      handoff-digests: '\${{ steps.ralph.outputs.handoff-digests }}', handoff-branches: '\${{ steps.ralph.outputs.handoff-branches }}',
${OF_STEP} }
${APP_ENV}
    steps:
${APP_STEPS}
      - uses: ${CHECKOUT}
        # A review is of Ralph's branch, whose code must not set up a job.
        with: { ref: "${REF}", fetch-depth: 0, persist-credentials: false }
${OTEL_STEP}
      - id: ralph
        uses: $/${JOB_FOLDER}
        with:
          phase: gate
          handoff-branch: each
          github-token: \${{ ${TOKEN} }}
          settings: \${{ toJSON(inputs) }} # all other jobs take them from what the gate hands over
${WEBHOOK.map((entry) => `          ${entry}`).join('\n')}
      # Also if one of several branches failed here: the others continue.
      - if: always() && steps.ralph.outputs.handed-over == 'true'
        uses: ${UPLOAD}
        with: { name: ralph-gate, path: '${HANDOFF}', if-no-files-found: error, retention-days: 1, overwrite: true }

  # One for each branch that the gate chose, mostly the queue's alone; each publishes when it is ready.
  branch:
    needs: gate
    # Also when the run was cancelled: what the gate claimed is given back.
    if: always() && needs.gate.outputs.handed-over == 'true'
    strategy: { fail-fast: false, max-parallel: '\${{ fromJSON(needs.gate.outputs.handoff-parallel) }}', matrix: { branch: '\${{ fromJSON(needs.gate.outputs.handoff-branches) }}' } }
    permissions: { contents: write, issues: write, pull-requests: write${logsIn ? ', id-token: write' : ''} } # what its ${
      logsIn ? 'jobs need; id-token only `loop`' : 'job `publish` needs'
    }
    uses: $/${branch}
    with: {
      branch: '\${{ matrix.branch }}', digest: '\${{ fromJSON(needs.gate.outputs.handoff-digests)[matrix.branch] }}',
      runs-on: '\${{ inputs.runs-on }}', timeout-minutes: '\${{ inputs.timeout-minutes }}'${
        logsIn ? `,\n${flowLines(given, { indent: 6, perLine: 2 })}` : ''
      } }
    secrets: {
${passed} }

  # Only for several branches: one summary, the outputs of all, and what a job that died still holds is given back.
  finish:
    needs: [gate, branch]
    if: always() && contains(needs.gate.outputs.handoff-branches, ',')
    runs-on: ${RUNS_ON}
    timeout-minutes: 15
    permissions:
      contents: write # keep the state on refs/ralph/v2/
      issues: write # keep the dashboard
      pull-requests: write # write the order of merges on all pages, turn auto-merge on
    outputs: {
${OF_STEP} }
${APP_ENV}
    steps:
${APP_STEPS}
      - uses: ${DOWNLOAD}
        with: { name: ralph-gate, path: '${HANDOFF}' }
      - id: ralph
        uses: $/${JOB_FOLDER}
        with: {
          phase: finish, handoff-branch: '\${{ fromJSON(needs.gate.outputs.handoff-branches)[0] }}',
          github-token: '\${{ ${TOKEN} }}', handoff-digest: '\${{ needs.gate.outputs.handoff-digest }}' }
`;
}

/** Renders the workflow that the reusable one calls for each branch: the agent's job, and the one that publishes. */
export function renderBranchWorkflow({ reusable, logsIn }: WorkflowForm): string {
  const ofBranch = flowLines(
    outputEntries((name) => `{ value: '\${{ jobs.publish.outputs.${name} }}' }`),
    { indent: 6, perLine: 2 },
  );
  const inputs = LOGIN_INPUTS.map((name) => `${name}: { type: string, required: true }`);
  return `# Generated by \`npm run docs\`: change scripts/reusable-workflow.ts, then run it.
#
# The work on one branch, which ${reusable.replace(/.*\//, '')} calls after its job \`gate\`. It is not for other workflows.
name: ralph (one branch${logsIn ? ', without stored keys' : ''})

on:
  workflow_call:
    inputs: {
      branch: { type: string, required: true, description: 'queue or issue-N' },
      digest: { type: string, required: true, description: 'SHA-256 of what the gate handed over for it' },
      runs-on: { type: string, required: true }, timeout-minutes: { type: string, required: true }${
        logsIn ? `,\n${flowLines(inputs, { indent: 6, perLine: 3 })}` : ''
      } }
    secrets: {
${optionalSecrets(logsIn)},
      token: { required: false }, app-client-id: { required: false }, app-private-key: { required: false }, env: { required: false } }
    outputs: {
${ofBranch} }

permissions: {}

jobs:
  loop:
    if: \${{ !cancelled() }}
    runs-on: ${RUNS_ON}
    timeout-minutes: \${{ fromJSON(inputs.timeout-minutes) }}
    permissions:
      contents: read # check out; the action itself gets no token${logsIn ? "\n      id-token: write # log in to the model's provider" : ''}
    steps:
      - uses: ${CHECKOUT}
        with: { ref: "${REF}", fetch-depth: 0, persist-credentials: false }
${ENV_STEP}
      # What the project needs to build and test, as its own steps; from the branch that was just checked out, not from Ralph's.
      - if: hashFiles('.github/actions/ralph-setup/action.yml') != ''
        uses: ./.github/actions/ralph-setup
      - uses: ${DOWNLOAD}
        with: { name: ralph-gate, path: '${HANDOFF}' }
${logsIn ? LOGIN_STEPS : ''}      - id: ralph
        uses: $/${JOB_FOLDER}${logsIn ? LOGGED_IN : ''}
        with: {
          phase: loop, handoff-branch: '\${{ inputs.branch }}', github-token: '', handoff-digest: '\${{ inputs.digest }}'${
            logsIn
              ? `,\n          claude-code-oauth-token: '\${{ steps.anthropic.outputs.token }}', login-ends: "${LOGIN_ENDS}"`
              : TO_STEP
          } }
      # Also of a run that was cancelled or failed: what it finished is published.
      - if: always()
        uses: ${UPLOAD}
        with: { name: 'ralph-loop-\${{ inputs.branch }}', path: '${HANDOFF}/\${{ inputs.branch }}/loop', if-no-files-found: warn, retention-days: 1, overwrite: true }
      # For people: the journal, which \`ralph replay\` reads, and the log of the agent, without the conversation.
      - if: always() && steps.ralph.outputs.journal-path
        uses: ${UPLOAD}
        with: { name: 'ralph-journal-\${{ inputs.branch }}', path: '\${{ steps.ralph.outputs.journal-path }}*', retention-days: 14, overwrite: true }

  publish:
    needs: loop
    if: always()
    runs-on: ${RUNS_ON}
    timeout-minutes: 15
    permissions:
      contents: write # push branches that begin with ralph/, keep the state on refs/ralph/v2/
      issues: write # keep the status comment, set labels, notify people
      pull-requests: write # open and update the pull request, answer its reviews, request its review
    outputs: {
${OF_STEP} }
${APP_ENV}
    steps:
${APP_STEPS}
${ENV_STEP}
      - uses: ${DOWNLOAD}
        with: { name: ralph-gate, path: '${HANDOFF}' }
      # Absent if the loop's job never started; the run is published without it.
      - continue-on-error: true
        uses: ${DOWNLOAD}
        with: { name: 'ralph-loop-\${{ inputs.branch }}', path: '${HANDOFF}/\${{ inputs.branch }}/loop' }
      - id: ralph
        uses: $/${JOB_FOLDER}
        # ${logsIn ? 'The login ended with the job of the loop' : 'The keys are searched for in what is published'}; no agent runs here.
        with: {
          phase: publish, handoff-branch: '\${{ inputs.branch }}', github-token: '\${{ ${TOKEN} }}', handoff-digest: '\${{ inputs.digest }}', loop-result: '\${{ needs.loop.result }}',
          ${WEBHOOK.join(', ')}${logsIn ? '' : TO_STEP} }
      # With the setting \`receipts\`: a job of the caller can sign it.
      - if: always() && steps.ralph.outputs.receipt-path
        uses: ${UPLOAD}
        with: { name: 'ralph-receipt-\${{ inputs.branch }}', path: '\${{ steps.ralph.outputs.receipt-path }}', overwrite: true }
      # What merged tasks cost, once one is merged.
      - if: always() && steps.ralph.outputs.history-path
        uses: ${UPLOAD}
        with: { name: 'ralph-history-\${{ inputs.branch }}', path: '\${{ steps.ralph.outputs.history-path }}', retention-days: 14, overwrite: true }
`;
}
