// @ts-check
import tseslint from 'typescript-eslint';

/** Selectors of code that core must not contain, each with a message that says what to write instead. */
const impure = [
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

/** The places of constants: numbers, texts and patterns at the top of a file. */
const topLevel = ':matches(Program, Program > ExportNamedDeclaration) > VariableDeclaration[kind=const]';

const everywhere = [
  { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
  {
    selector: `${topLevel} > VariableDeclarator[id.name=/[a-z]/][init.type=/^(Literal|TemplateLiteral|UnaryExpression|BinaryExpression)$/]`,
    message: 'A number, text or pattern at the top of a file is written in UPPER_CASE.',
  },
];

/** Folders of pure, synchronous code; dependency-cruiser restricts their imports. */
const pureRooms = [
  'src/core/**/*.ts',
  'src/markdown/**/*.ts',
  'src/json/**/*.ts',
  'src/yaml/**/*.ts',
  'src/report/**/*.ts',
  'src/cli/monitor/view/**/*.ts',
  'src/agents/*/{events,messages,output}/**/*.ts',
  'src/agents/{openai,reading,rules}/**/*.ts',
  'src/agents/*/tool-rules.ts',
];

export default tseslint.config(
  {
    ignores: [
      'dist/',
      '.build/',
      '.cache/',
      '**/*.d.ts',
      'node_modules/',
      'scripts/toolchain/',
      'sandbox-output/',
      'test/samples/',
    ],
  },
  ...tseslint.configs.strict,
  {
    rules: {
      'no-restricted-syntax': ['error', ...everywhere],
      'max-params': ['error', 3],
      // One style of imports: one line per module, `import type` for types alone.
      'no-duplicate-imports': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/naming-convention': [
        'error',
        { selector: 'default', format: ['camelCase'], leadingUnderscore: 'allow' },
        { selector: 'variable', modifiers: ['const', 'global'], format: ['camelCase', 'UPPER_CASE'] },
        { selector: 'typeLike', format: ['PascalCase'] },
        // Names chosen by others: by libraries, protocols and files.
        { selector: ['import', 'objectLiteralProperty', 'objectLiteralMethod', 'typeProperty'], format: null },
        { selector: ['variable', 'parameter'], modifiers: ['destructured'], format: null },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'process.env is read in config/, runner/, wiring/ and the entries only.',
        },
      ],
    },
  },
  {
    files: pureRooms,
    rules: {
      'no-restricted-globals': [
        'error',
        ...['process', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'],
        ...['performance', 'crypto', 'fetch', 'console', 'Buffer'],
      ],
      'no-restricted-syntax': ['error', ...everywhere, ...impure],
      'max-params': ['error', 4],
    },
  },
  {
    files: [
      ...['src/config/**/*.ts', 'src/runner/**/*.ts', 'src/entries/**/*.ts', 'src/wiring/**/*.ts'],
      ...['testbed/**', 'test/**', 'scripts/**', 'bench/**', '*.{js,ts}'],
    ],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // A row of a table may have as many columns as it needs.
      'max-params': 'off',
    },
  },
  { files: ['*.config.{js,ts}'], rules: { 'no-restricted-syntax': 'off' } },
);
