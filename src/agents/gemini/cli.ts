import type { AgentCli } from '../cli/cli.ts';
import { judgeStallIn, openDialectReader } from '../cli/dialect-reader.ts';
import { geminiArguments, geminiEnvironment, geminiFiles, parseName, settingsWith } from './command-line.ts';
import { dialect } from './events/dialect.ts';
import { geminiMcpServers } from './mcp-servers.ts';
import { CO_AUTHOR } from './provider.ts';
import { exportSession, importSession, removeEmptyChats, resetHome } from './session-files.ts';
import { kindOfDenial, mapRules } from './tool-rules.ts';

/** Gemini CLI: stream-json on stdout. */
export const cli: AgentCli = {
  title: 'Gemini CLI',
  // It is JavaScript on every platform.
  source: { name: '@google/gemini-cli', programs: () => ['@google/gemini-cli/bundle/gemini.js'] },
  looksIntoFolder: true,
  parseName,
  tellsRetries: false,
  kindOfDenial,
  coAuthor: CO_AUTHOR,
  sessions: { export: exportSession, import: importSession },
  rulesGap: mapRules,
  unmappedServers: (servers) => geminiMcpServers(servers).unmapped,
  prepare: async (call, place) => {
    await resetHome(place.configFolder, settingsWith(call.servers));
    await removeEmptyChats(place, call.resume);
    return {
      args: geminiArguments({ ...call, ...place }),
      environment: geminiEnvironment(call.environment, place.configFolder),
      files: geminiFiles(call),
      openReader: (listener) => openDialectReader(dialect, listener, null),
      complete: (transcript) => Promise.resolve(transcript),
    };
  },
  judgeStall: judgeStallIn(dialect),
};
