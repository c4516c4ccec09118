import type { AgentCli } from '../cli/cli.ts';
import { placeFile } from '../cli/plain-files.ts';
import { judgeStallIn, openDialectReader } from '../cli/dialect-reader.ts';
import { opencodeArguments, opencodeEnvironment, OWN_FOLDER, parseName } from './command-line.ts';
import { dialect } from './events/dialect.ts';
import { refusePlugins } from './plugins.ts';
import { opencodeMcpServers } from './mcp-servers.ts';
import { CO_AUTHOR } from './provider.ts';
import { exportSession, importSession, resetHome, takeIn, writeDown } from './session-files.ts';
import { kindOfDenial, mapRules } from './tool-rules.ts';

/** OpenCode: its own lines of JSON on stdout, without a result; failed tries on stderr. */
export const cli: AgentCli = {
  title: 'OpenCode',
  source: {
    name: 'opencode-ai',
    // The one without newer instructions runs on every processor. The launcher is not there without scripts of packages.
    programs: ({ os, cpu }) => [
      `opencode-${os}-${cpu}-baseline/bin/opencode`,
      `opencode-${os}-${cpu}/bin/opencode`,
      `opencode-${os}-${cpu}-baseline-musl/bin/opencode`,
      `opencode-${os}-${cpu}-musl/bin/opencode`,
    ],
  },
  looksIntoFolder: true,
  parseName,
  tellsRetries: true,
  kindOfDenial,
  coAuthor: CO_AUTHOR,
  sessions: { export: exportSession, import: importSession },
  rulesGap: mapRules,
  unmappedServers: (servers) => opencodeMcpServers(servers, {}).unmapped,
  prepare: async (call, place) => {
    await refusePlugins(place);
    const environment = opencodeEnvironment(call, place.configFolder);
    await resetHome(place.configFolder);
    await placeFile(place.configFolder, OWN_FOLDER, { name: 'opencode.json', content: '{}' });
    await takeIn(place, call.resume, environment);
    return {
      args: opencodeArguments(call),
      environment,
      files: {},
      openReader: (listener) => openDialectReader(dialect, listener, null),
      complete: async (transcript) => {
        // A plugin may have come during the call.
        const isRefused = await refusePlugins(place).then(
          () => false,
          () => true,
        );
        if (!isRefused) await writeDown(place, transcript.sessionId, environment);
        return transcript;
      },
    };
  },
  judgeStall: judgeStallIn(dialect),
};
