// @ts-check
import tseslint from 'typescript-eslint';

/** The layers of the house (design: one river, pure decisions, thin adapters). `may` lists what a folder of src/ may import. */
const layers = {
  // Parsers: pure and synchronous like core, each the one home of its library.
  markdown: { may: ['markdown'], packages: ['mdast', 'mdast-util-', 'micromark-', 'htmlparser2'] },
  json: { may: ['json'], packages: ['jsonc-parser'] },
  core: { may: ['core', 'markdown', 'json'], packages: ['zod'] },
  config: { may: ['config', 'core', 'user-error'], packages: ['zod'] },
  gate: { may: ['gate', 'core', 'config', 'ports', 'user-error'], packages: ['zod', 'node:crypto'] },
  loop: { may: ['loop', 'core', 'config', 'ports', 'user-error', 'gate/intake'], packages: [] },
  publish: {
    may: ['publish', 'core', 'config', 'ports', 'report', 'user-error', 'gate/intake', 'loop/work'],
    packages: [],
  },
  report: { may: ['report', 'core', 'gate/intake', 'loop/work'], packages: ['zod'] },
  agents: { may: ['agents', 'core', 'ports', 'user-error'], packages: ['execa', 'node:'] },
  git: { may: ['git', 'core', 'ports', 'user-error'], packages: ['execa', 'node:'] },
  github: { may: ['github', 'core', 'ports', 'user-error'], packages: ['@actions/github', '@octokit/', 'node:'] },
  secrets: { may: ['secrets', 'core', 'ports', 'user-error'], packages: ['@secretlint/'] },
  state: { may: ['state', 'core', 'ports', 'user-error'], packages: ['@actions/cache', 'node:'] },
  cli: { may: ['cli', 'core', 'config', 'ports', 'report/format'], packages: ['node:', 'zod'] },
  runner: { may: ['runner', 'core', 'config', 'ports', 'user-error'], packages: ['@actions/core', 'node:'] },
};

const namedExports = { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' };

const pureCode = [
  namedExports,
  {
    selector: "NewExpression[callee.name='Date'][arguments.length=0]",
    message: 'core has no clock: take the instant as an argument.',
  },
  {
    selector: "MemberExpression[object.name='Date'][property.name='now']",
    message: 'core has no clock: take the instant as an argument.',
  },
  { selector: "MemberExpression[object.name='Math'][property.name='random']", message: 'core has no randomness.' },
  { selector: ':function[async=true]', message: 'core is synchronous.' },
  { selector: 'AwaitExpression', message: 'core is synchronous.' },
];

const folders = Object.keys(layers);
const escape = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

function importRule(folder) {
  const { may, packages } = layers[folder];
  const inside = may.map((name) => (name === folder ? '(?!\\.\\./)' : name));
  const outside = may
    .filter((name) => name !== folder)
    .map(escape)
    .join('|');
  return [
    'error',
    {
      patterns: [
        // A relative import that leaves the folder must go to a layer that this one may know.
        {
          regex: `^(\\.\\./)+(?!\\.\\./|${[outside, ...folderInternal(folder)].filter(Boolean).join('|')})`,
          message: `${folder}/ may import only: ${inside.length ? may.join(', ') : 'itself'}.`,
        },
        {
          regex: `^(?!\\.)(?!${packages.map(escape).join('|') || '$^'})`,
          message: `${folder}/ may use only these packages: ${packages.join(', ') || 'none'}.`,
        },
      ],
    },
  ];
}

/** Names of files and folders inside `folder` that its subfolders may reach with `../`. */
function folderInternal(folder) {
  return folder === 'core' ? ['analysis/', 'tasks/', '[a-z-]+\\.ts$'] : ['[a-z-]+\\.ts$'];
}

export default tseslint.config(
  { ignores: ['dist/', '.build/', '.cache/', '**/*.d.ts', 'node_modules/', 'scripts/toolchain/', 'sandbox-output/'] },
  ...tseslint.configs.strict,
  {
    rules: {
      'no-restricted-syntax': ['error', namedExports],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'max-params': ['error', 3],
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'process.env is read in config/ and runner/ (and the entries) only.',
        },
      ],
    },
  },
  ...folders.map((folder) => ({
    files: [`src/${folder}/**/*.ts`],
    rules: { 'no-restricted-imports': importRule(folder) },
  })),
  {
    files: ['src/core/**/*.ts', 'src/markdown/**/*.ts', 'src/json/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        'process',
        'setTimeout',
        'setInterval',
        'setImmediate',
        'queueMicrotask',
        'performance',
        'crypto',
        'fetch',
        'console',
        'Buffer',
      ],
      'no-restricted-syntax': ['error', ...pureCode],
      'max-params': ['error', 4],
    },
  },
  {
    files: [
      'src/config/**/*.ts',
      'src/runner/**/*.ts',
      'src/*.ts',
      'sandbox/**',
      'test/**',
      'scripts/**',
      'bench/**',
      '*.{js,ts}',
    ],
    rules: { 'no-restricted-properties': 'off' },
  },
  // A row of a table may have as many columns as it needs.
  { files: ['test/**/*.ts'], rules: { 'max-params': 'off' } },
  { files: ['*.config.{js,ts}'], rules: { 'no-restricted-syntax': 'off' } },
);
