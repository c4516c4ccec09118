import { KEY_INPUTS } from '../src/config/agent-inputs.ts';
import { INPUT_ROWS, JOB_ROWS } from '../src/config/input-rows.ts';
import { quoted, withInputs } from './action-yml.ts';

/** The path of the workflow that other repositories call, from the root. */
export const REUSABLE_WORKFLOW = '.github/workflows/ralph.yml';

/**
 * The folder of the action that the jobs use: GitHub accepts a path in the workflow's own repository at its own commit,
 * but not the root.
 */
const JOB_FOLDER = '.github/actions/job';
/** The path of that action, from the root. */
export const JOB_ACTION = `${JOB_FOLDER}/action.yml`;

/** Renders the same action as `actionYml` in the root, in a folder of its own and with the inputs of one job. */
export function renderJobAction(actionYml: string): string {
  const programs = withInputs(actionYml, [...JOB_ROWS, ...INPUT_ROWS]).replaceAll(
    /^( {2}(?:main|post): )(dist\/)/gm,
    `$1${'../'.repeat(3)}$2`,
  );
  return `# Generated from action.yml by \`npm run docs\`, for the jobs of ralph.yml: change action.yml, then run it.\n${programs}`;
}

/** Inputs that callers give as secrets. */
const SECRET_INPUTS: readonly string[] = ['github-token', ...KEY_INPUTS];
/** Outputs that tell how a run ended. */
const OUTPUTS = ['outcome', 'reason', 'branch', 'head-sha', 'pr-number', 'pr-url', 'cost-usd', 'status-json'];

const CHECKOUT = 'actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1';
const UPLOAD = 'actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1';
const DOWNLOAD = 'actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1';

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

/** Renders the reusable workflow, whose inputs and their defaults are those of action.yml. */
export function renderReusableWorkflow(): string {
  const declared = INPUT_ROWS.flatMap(({ rows }) => rows)
    .filter(([name]) => !SECRET_INPUTS.includes(name))
    .map(([name, text]) => `      ${name}: { type: string, default: ${quoted(text)} }`);
  const secrets = flowLines(
    KEY_INPUTS.map((name) => `${name}: '\${{ secrets.${name} }}'`),
    { indent: 10, perLine: 3 },
  );
  const outputs = flowLines(
    OUTPUTS.map((name) => `${name}: { value: "\${{ jobs.publish.outputs.${name} || jobs.gate.outputs.${name} }}" }`),
    { indent: 6, perLine: 2 },
  );
  const ofJob = flowLines(
    OUTPUTS.map((name) => `${name}: '\${{ steps.ralph.outputs.${name} }}'`),
    { indent: 6, perLine: 3 },
  );
  return `# Generated from action.yml by \`npm run docs\`: change scripts/reusable-workflow.ts, then run it.
#
# A run in three jobs, for other repositories to call. The agent works in the job \`loop\`, which holds its key and a token that
# can only read this repository. \`gate\` and \`publish\` hold the token that can write: no agent runs there, and no code of the branch.
name: ralph (reusable)

on:
  workflow_call:
    inputs:
      runs-on: { type: string, default: ubuntu-latest, description: 'Label of the runners, or a list of labels as JSON' }
      timeout-minutes: { type: string, default: '60', description: 'Longest time of the job with the agent; at least 10 more than max-minutes' }
${declared.join('\n')}
    secrets: {
${flowLines(
  KEY_INPUTS.map((name) => `${name}: { required: false }`),
  { indent: 6, perLine: 3 },
)},
      token: { required: false, description: 'A token for issues, branch and pull request in place of that of the job' } }
    outputs: {
${outputs} }

permissions: {}

jobs:
  gate:
    # A comment starts a runner if it is a command, a label or an issue if it is about a task; a review, a reply or a check
    # if it is of one of Ralph's branches. Comments of a review come with it, and neither Ralph's own answers nor checks that
    # passed ask for anything. An answer by a GitHub App, which is the pull request's author then, is a review without a text as well.
    if: >-
      startsWith(github.event.comment.body, '/ralph') || github.event.label.name == inputs.task-label || (
      github.event.issue && !github.event.comment && !github.event.label &&
      contains(github.event.issue.labels.*.name, inputs.task-label)) || (
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
      contents: write # make the branch, keep the state on refs/ralph/v2/
      issues: write # read issues, react, keep the status comment
      pull-requests: write # read the pull request and its reviews
      checks: read # see which checks of the pull request failed, and why
      statuses: read # the same for CI that sets commit statuses
      actions: read # read the log of a failed job
    outputs: {
      handed-over: '\${{ steps.ralph.outputs.handed-over }}', handoff-digest: '\${{ steps.ralph.outputs.handoff-digest }}',
${ofJob} }
    steps:
      - uses: ${CHECKOUT}
        # A review is of Ralph's branch, whose code must not set up a job.
        with: { ref: "${REF}", fetch-depth: 0, persist-credentials: false }
      - id: ralph
        uses: $/${JOB_FOLDER}
        with:
          phase: gate
          github-token: \${{ secrets.token || github.token }}
          settings: \${{ toJSON(inputs) }} # loop and publish take them from what the gate hands over
      - if: steps.ralph.outputs.handed-over == 'true'
        uses: ${UPLOAD}
        with: { name: ralph-gate, path: '\${{ runner.temp }}/ralph-handoff/gate', if-no-files-found: error, retention-days: 1, overwrite: true }

  loop:
    needs: gate
    if: needs.gate.outputs.handed-over == 'true'
    runs-on: ${RUNS_ON}
    timeout-minutes: \${{ fromJSON(inputs.timeout-minutes) }}
    permissions:
      contents: read # check out; the action itself gets no token
    steps:
      - uses: ${CHECKOUT}
        # A review is of Ralph's branch, whose code must not set up a job.
        with: { ref: "${REF}", fetch-depth: 0, persist-credentials: false }
      # What the project needs to build and test, as its own steps; from the branch that was just checked out, not from Ralph's.
      - if: hashFiles('.github/actions/ralph-setup/action.yml') != ''
        uses: ./.github/actions/ralph-setup
      - uses: ${DOWNLOAD}
        with: { name: ralph-gate, path: '\${{ runner.temp }}/ralph-handoff/gate' }
      - id: ralph
        uses: $/${JOB_FOLDER}
        with: {
          phase: loop, github-token: '', handoff-digest: '\${{ needs.gate.outputs.handoff-digest }}',
${secrets} }
      # Also of a run that was cancelled or failed: what it finished is published.
      - if: always()
        uses: ${UPLOAD}
        with: { name: ralph-loop, path: '\${{ runner.temp }}/ralph-handoff/loop', if-no-files-found: warn, retention-days: 1, overwrite: true }
      # For people: the journal, which \`ralph replay\` reads, and the log of the agent, without the conversation.
      - if: always() && steps.ralph.outputs.journal-path
        uses: ${UPLOAD}
        with: { name: ralph-journal, path: '\${{ steps.ralph.outputs.journal-path }}*', retention-days: 14, overwrite: true }

  publish:
    needs: [gate, loop]
    if: always() && needs.gate.outputs.handed-over == 'true'
    runs-on: ${RUNS_ON}
    timeout-minutes: 15
    permissions:
      contents: write # push branches that begin with ralph/, keep the state on refs/ralph/v2/
      issues: write # keep the status comment, set labels, notify people
      pull-requests: write # open and update the pull request, answer its reviews, request its review
    outputs: {
${ofJob} }
    steps:
      - uses: ${DOWNLOAD}
        with: { name: ralph-gate, path: '\${{ runner.temp }}/ralph-handoff/gate' }
      # There is none where the job of the loop never began; the run is published as such.
      - continue-on-error: true
        uses: ${DOWNLOAD}
        with: { name: ralph-loop, path: '\${{ runner.temp }}/ralph-handoff/loop' }
      - id: ralph
        uses: $/${JOB_FOLDER}
        # The keys are searched for in what is published; no agent runs here.
        with: {
          phase: publish, github-token: '\${{ secrets.token || github.token }}', handoff-digest: '\${{ needs.gate.outputs.handoff-digest }}',
${secrets} }
`;
}
