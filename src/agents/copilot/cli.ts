import { randomUUID } from 'node:crypto';
import type { AgentCli } from '../cli/cli.ts';
import { timeOf } from '../reading/clock.ts';
import { judgeStallIn, openDialectReader } from '../cli/dialect-reader.ts';
import { UUID } from '../reading/session-id.ts';
import { copilotArguments, copilotEnvironment, parseName, type Session } from './command-line.ts';
import { dialect } from './events/dialect.ts';
import { copilotMcpServers } from './mcp-servers.ts';
import { CO_AUTHOR } from './provider.ts';
import { exportSession, importSession, resetSettings, tokensSince } from './session-files.ts';
import { kindOfDenial, mapRules } from './tool-rules.ts';

/** GitHub Copilot CLI: JSON lines on stdout. */
export const cli: AgentCli = {
  title: 'GitHub Copilot CLI',
  source: {
    name: '@github/copilot',
    // The platform's binary, or the script that looks for it.
    programs: ({ os, cpu }) => [`@github/copilot-${os}-${cpu}/copilot`, '@github/copilot/npm-loader.js'],
  },
  looksIntoFolder: true,
  parseName,
  tellsRetries: true,
  kindOfDenial,
  coAuthor: CO_AUTHOR,
  sessions: { export: exportSession, import: importSession },
  rulesGap: mapRules,
  unmappedServers: (servers) => copilotMcpServers(servers).unmapped,
  prepare: async (call, place) => {
    const session = sessionOf(call.resume);
    const environment = copilotEnvironment(call.environment, place.configFolder);
    await resetSettings(place.configFolder);
    let startedAt = 0;
    return {
      args: copilotArguments({ ...call, ...place, session }),
      environment,
      files: {},
      openReader: (listener) => {
        startedAt = timeOf(listener.now);
        return openDialectReader(dialect, listener, null);
      },
      // Its last line alone names the session, and no line says what was used.
      complete: async (transcript) => ({
        ...transcript,
        sessionId: transcript.sessionId ?? (transcript.format === 'jsonl' ? session.id : null),
        tokens: await tokensSince(place.configFolder, session.id, startedAt),
      }),
    };
  },
  judgeStall: judgeStallIn(dialect),
};

function sessionOf(resume: string | null): Session {
  return resume !== null && UUID.test(resume) ? { kind: 'resumed', id: resume } : { kind: 'new', id: randomUUID() };
}
