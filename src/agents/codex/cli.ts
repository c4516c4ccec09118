import type { AgentCli } from '../cli/cli.ts';
import { judgeStallIn, openDialectReader } from '../cli/dialect-reader.ts';
import { codexArguments, codexEnvironment, parseName } from './command-line.ts';
import { dialect } from './events/dialect.ts';
import { codexMcpServers } from './mcp-servers.ts';
import { CO_AUTHOR } from './provider.ts';
import { sandboxFor } from './sandbox.ts';
import { exportSession, importSession, resetHome, tokensOf } from './session-files.ts';
import { kindOfDenial, mapRules } from './tool-rules.ts';

/** OpenAI's Codex: `codex exec --json`. */
export const cli: AgentCli = {
  title: 'Codex',
  source: {
    name: '@openai/codex',
    // The platform's binary, or the script that looks for it.
    programs: ({ os, cpu }) => [
      `@openai/codex-${os}-${cpu}/vendor/${tripleOf(os, cpu)}/bin/codex`,
      '@openai/codex/bin/codex.js',
    ],
  },
  looksIntoFolder: true,
  parseName,
  tellsRetries: true,
  kindOfDenial,
  coAuthor: CO_AUTHOR,
  sessions: { export: exportSession, import: importSession },
  rulesGap: (allowedTools) => mapRules(allowedTools, { gitFolder: '.git' }),
  unmappedServers: (servers) => codexMcpServers(servers).unmapped,
  prepare: async (call, place) => {
    await resetHome(place.configFolder);
    const environment = codexEnvironment(call.environment, place.configFolder);
    const sandbox = await sandboxFor(call, environment, place);
    // It prints the sum of all that the session has used.
    const tokensBefore = call.resume === null ? 0 : await tokensOf(place.configFolder, call.resume);
    return {
      args: codexArguments({ ...call, ...place, sandbox }),
      environment,
      files: {},
      openReader: (listener) => openDialectReader(dialect, listener, tokensBefore),
      complete: (transcript) => Promise.resolve(tokensBefore === null ? { ...transcript, tokens: null } : transcript),
    };
  },
  judgeStall: judgeStallIn(dialect),
};

/** As the package names its builds. */
function tripleOf(os: string, cpu: string): string {
  const machine = cpu === 'arm64' ? 'aarch64' : 'x86_64';
  return os === 'darwin' ? `${machine}-apple-darwin` : `${machine}-unknown-linux-musl`;
}
