import { DIRECT_LOGIN, HOSTS_OF_OPENAI, type LoadableAgent, NO_CLOUD_LOGIN, OPENAI_KEY } from '../manifest.ts';

/** The agent Qwen Code. */
export const qwenAgent = {
  title: 'Qwen Code',
  // The package has one program for all platforms.
  source: { name: '@qwen-code/qwen-code', version: '0.24.4', programs: () => ['@qwen-code/qwen-code/cli-entry.js'] },
  resume: true,
  tokens: true,
  cost: false,
  denials: true,
  toolRules: 'each',
  turnLimit: true,
  capsCost: false,
  isCounted: true,
  provider: {
    ...NO_CLOUD_LOGIN,
    telemetryName: 'openai',
    variables: /^OPENAI_(API_KEY|BASE_URL|MODEL)$/,
    keys: ['OPENAI_API_KEY'],
    keyForms: [
      {
        ...OPENAI_KEY,
        begin: 'sk-',
        what: 'an API key',
        misspelled: ['OPENAI_KEY', 'OPENAI_API_TOKEN', 'DASHSCOPE_API_KEY', 'QWEN_API_KEY', 'QWEN_KEY'],
      },
    ],
  },
  hosts: [...HOSTS_OF_OPENAI, 'dashscope.aliyuncs.com', '*.aliyuncs.com'],
  directLogin: DIRECT_LOGIN,
  // The second name of the shell is in journals of earlier versions.
  tools: { shell: ['execute', 'run_shell_command'], question: 'ask_user_question' },
  coAuthor: 'Qwen-Coder <qwen-coder@alibabacloud.com>',
  adapter: async () => (await import('./cli.ts')).qwenCli,
  output: null,
} as const satisfies LoadableAgent;
