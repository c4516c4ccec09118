import type { AgentCli } from '../cli/cli.ts';
import { judgeStallIn, openDialectReader } from '../cli/dialect-reader.ts';
import { parseName, qwenArguments, qwenEnvironment, qwenFiles } from './command-line.ts';
import { dialect } from './events/dialect.ts';
import { unmappedServers } from './mcp-servers.ts';
import { CO_AUTHOR } from './provider.ts';
import { exportSession, importSession, resetHome, tokensOf } from './session-files.ts';
import { kindOfDenial, mapRules } from './tool-rules.ts';

/** Qwen Code: stream-json on stdout, with sums of the session. */
export const cli: AgentCli = {
  title: 'Qwen Code',
  // It is JavaScript on every platform.
  source: { name: '@qwen-code/qwen-code', programs: () => ['@qwen-code/qwen-code/cli-entry.js'] },
  looksIntoFolder: true,
  parseName,
  tellsRetries: false,
  kindOfDenial,
  coAuthor: CO_AUTHOR,
  sessions: { export: exportSession, import: importSession },
  rulesGap: mapRules,
  unmappedServers,
  prepare: async (call, place) => {
    await resetHome(place);
    const tokensBefore = await tokensOf(place, call.resume);
    return {
      args: qwenArguments({ ...call, ...place }),
      environment: qwenEnvironment(call.environment, place),
      files: qwenFiles(call),
      openReader: (listener) => openDialectReader(dialect, listener, tokensBefore),
      complete: (transcript) => Promise.resolve(transcript),
    };
  },
  judgeStall: judgeStallIn(dialect),
};
