/**
 * The layers of the house (docs/internals.md): stages in a row, pure decisions, thin adapters. `may`: folders of src/
 * that a folder may import besides itself; `packages`: what it may load from npm or Node. A star matches one folder; in
 * `may` it means that same folder.
 */
const PURE = ['core', 'markdown', 'json', 'yaml'];
const STAGE = ['handover', 'ports', 'config', 'errors', ...PURE];
const ADAPTER = ['ports', 'core', 'errors', 'files'];
/** All code about a terminal: drawing, width, and restoring it. */
const TERMINAL = ['ansi-escapes', 'fast-string-truncated-width', 'signal-exit'];

/** @type {Record<string, { may: string[], packages: string[] }>} */
const layers = {
  errors: { may: [], packages: [] },
  files: { may: [], packages: ['node:'] },
  markdown: { may: [], packages: ['mdast', 'mdast-util-', 'micromark', 'htmlparser2', 'domhandler'] },
  json: { may: [], packages: ['jsonc-parser'] },
  yaml: { may: [], packages: ['yaml'] },
  // The manifests of agents are data; wiring/ loads the code that they name.
  core: { may: [...PURE, 'agents/all'], packages: ['zod'] },
  ports: { may: ['core'], packages: [] },
  handover: { may: ['ports', 'core'], packages: ['zod'] },
  config: { may: ['core', 'errors'], packages: ['zod'] },
  gate: { may: STAGE, packages: ['zod'] },
  loop: { may: STAGE, packages: [] },
  report: { may: ['handover', 'core', 'config'], packages: ['zod'] },
  publish: { may: [...STAGE, 'report'], packages: [] },
  run: { may: [...STAGE, 'files', 'gate', 'loop', 'publish', 'report'], packages: ['node:'] },
  processes: { may: ADAPTER, packages: ['execa', 'node:'] },
  agents: { may: [...ADAPTER, 'processes'], packages: ['@agentclientprotocol/sdk', 'node:'] },
  // Pure code parses the output of an agent's CLI. It knows no other agent, and shares the reading code with all.
  'agents/reading': { may: ['core'], packages: [] },
  // The user's rules, and their translation for each agent.
  'agents/rules': { may: ['core'], packages: [] },
  'agents/*/tool-rules': { may: ['core', 'agents/rules'], packages: [] },
  'agents/*/events': { may: ['core', 'agents/reading', 'agents/rules'], packages: [] },
  // The code that the APIs of all providers share.
  'agents/passing': { may: ['core', 'ports', 'agents/reading'], packages: [] },
  'agents/*/messages': { may: ['core', 'ports', 'agents/reading', 'agents/passing'], packages: [] },
  // The protocols that several agents speak with their providers belong to no single agent.
  'agents/openai': { may: ['core', 'ports', 'agents/reading', 'agents/passing'], packages: [] },
  'agents/*/output': { may: ['core', 'agents/reading', 'agents/*/events'], packages: [] },
  // Types of the sandbox runtime, which is loaded by its path at run time.
  isolation: { may: [...ADAPTER, 'processes'], packages: ['aws4fetch', '@anthropic-ai/sandbox-runtime', 'node:'] },
  git: { may: [...ADAPTER, 'processes'], packages: ['node:'] },
  github: { may: ADAPTER, packages: ['@octokit/', '@actions/http-client', 'undici', 'node:'] },
  secrets: { may: ADAPTER, packages: ['@secretlint/', 'node:'] },
  state: { may: [...ADAPTER, 'processes'], packages: ['@actions/cache', 'node:'] },
  runner: { may: [...ADAPTER, 'config'], packages: ['@actions/core', '@actions/github', '@opentelemetry/', 'node:'] },
  home: { may: ADAPTER, packages: ['node:', 'zod'] },
  cli: { may: [...ADAPTER, 'config', 'report'], packages: ['node:', 'zod', '@clack/', ...TERMINAL] },
  // Pure code makes the monitor's screen of data, size and time.
  'cli/monitor/view': {
    may: ['core', 'report', 'cli/lane/lane-schema', 'cli/defaults', 'cli/monitor/monitor-schema'],
    packages: ['fast-string-truncated-width'],
  },
};

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
const fromFolder = (folder) => `^src/${folder.replace('*', '([^/]+)')}(/|\\.ts$)`;
const toFolder = (folder) => `^src/${folder.replace('*', '$1')}(/|\\.ts$)`;
const builtins = (packages) =>
  packages.filter((name) => name.startsWith('node:')).map((name) => name.slice('node:'.length));

const folders = Object.entries(layers).flatMap(([folder, { may, packages }]) => [
  {
    name: `${folder}-knows-only`,
    comment: `${folder}/ may import only: ${[folder, ...may].join(', ')}.`,
    severity: 'error',
    from: { path: fromFolder(folder) },
    to: { path: '^(src|testbed|test|scripts|bench)/', pathNot: [folder, ...may].map(toFolder) },
  },
  {
    name: `${folder}-uses-only`,
    comment: `${folder}/ may use only these packages: ${packages.join(', ') || 'none'}.`,
    severity: 'error',
    from: { path: fromFolder(folder) },
    to: { path: 'node_modules', pathNot: packages.map((name) => `node_modules/(@types/)?${escaped(name)}`) },
  },
  {
    name: `${folder}-of-node-only`,
    comment: `${folder}/ may use of Node: ${
      builtins(packages)
        .map((name) => name || 'everything')
        .join(', ') || 'nothing'
    }.`,
    severity: 'error',
    from: { path: fromFolder(folder) },
    to: { dependencyTypes: ['core'], pathNot: builtins(packages).map((name) => `^(node:)?${name}`) },
  },
]);

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Cycles hide which of two files is the deeper one.',
      severity: 'error',
      from: {},
      // A manifest names the code of its agent, which knows decisions, which know the facts in manifests.
      to: { circular: true, viaOnly: { pathNot: '^src/agents/(?!cli/)[^/]+/agent\\.ts$' } },
    },
    {
      name: 'programs-are-run-in-processes',
      comment: 'A program is bounded in time and ended with all that it started: processes/run-program.ts runs it.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(node:)?child_process$' },
    },
    {
      name: 'adapters-are-wired',
      comment: 'Only entries and wiring know what stands behind a port.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(entries|wiring)/'] },
      to: { path: '^src/(entries|wiring)/' },
    },
    {
      name: 'agents-are-loaded-when-asked-for',
      comment: 'A run uses one agent: the code of the others is behind await import().',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/agents/' },
      to: { path: '^src/agents/(?!all\\.ts|claude/|cli/|reading/|rules/)', dynamic: false },
    },
    {
      name: 'manifests-are-data',
      comment: 'Every event loads the manifests of all agents: the code that they name is behind await import().',
      severity: 'error',
      from: { path: '^src/agents/(all|manifest|(?!cli/)[^/]+/agent)\\.ts$' },
      to: { pathNot: '^src/agents/(manifest|[^/]+/agent)\\.ts$', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'receipts-are-loaded-when-asked-for',
      comment: 'Commands at home check receipts; a run loads their code only if it keeps one: behind await import().',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli/receipt|core/receipt|git/home)/' },
      to: { path: '^src/core/receipt/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'an-event-that-is-not-for-us-loads-no-stage',
      comment:
        'Most events of a repository end before the gate: stages, parsers of Markdown, YAML and JSON, and the state of lanes are behind await import().',
      severity: 'error',
      from: {
        path: [
          '^src/(config|report|gate/event)/',
          '^src/entries/(main|post)\\.ts$',
          '^src/run/(run-action|dismissed|recording|run-record)\\.ts$',
          '^src/wiring/(connect|guard|handoff|machine|world|isolation/isolated|settings/run-settings)\\.ts$',
        ],
        pathNot: '^src/report/pages/(status-(schema|comment)|pull-request)',
      },
      to: {
        path: [
          '^src/(markdown|yaml|json|loop)/',
          '^src/gate/(?!event/)',
          '^src/publish/',
          '^src/run/(flow|salvage|rescue|unusable|jobs/)',
          '^src/wiring/(agent|state)\\.ts$',
          '^src/core/(snapshot|prompt/|lane/state|journal/(parse-)?journal)',
          '^src/(handover/intake|processes/run-program|report/pages/(status-schema|pull-request-body))\\.ts$',
        ],
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    ...folders,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
  },
};
