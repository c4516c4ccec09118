// @ts-check
import tseslint from 'typescript-eslint';

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
  {
    files: ['src/core/**/*.ts', 'src/markdown/**/*.ts', 'src/json/**/*.ts', 'src/agents/*/{events,output}/**/*.ts'],
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
      'src/entries/**/*.ts',
      'src/wiring/**/*.ts',
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
