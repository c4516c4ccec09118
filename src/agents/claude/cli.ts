import type { AgentCli, CallListener, CallReader } from '../cli/cli.ts';
import { claudeArguments, claudeEnvironment, parseName } from './command-line.ts';
import { kindOfDenial } from './events/allow-rules.ts';
import { classifyFailure, missingResult } from './events/failure.ts';
import { usageLimitOf } from './events/usage-limit.ts';
import { callEventOf } from './log-events.ts';
import { createOutputReader } from './output/reader.ts';
import { claudeMcpServers } from './mcp-servers.ts';
import { CO_AUTHOR } from './provider.ts';
import { mapRules } from './tool-rules.ts';
import { exportSession, importSession } from './session-files.ts';

/** Claude Code: stream-json on stdout. */
export const cli: AgentCli = {
  title: 'Claude Code',
  source: {
    name: '@anthropic-ai/claude-code',
    // The platform's binary (2.1.113 and later), or the script of older versions.
    programs: ({ os, cpu }) => [
      `@anthropic-ai/claude-code-${os}-${cpu}/claude`,
      `@anthropic-ai/claude-code-${os}-${cpu}-musl/claude`,
      '@anthropic-ai/claude-code/cli.js',
    ],
  },
  looksIntoFolder: false,
  parseName,
  kindOfDenial,
  coAuthor: CO_AUTHOR,
  sessions: { export: exportSession, import: importSession },
  rulesGap: mapRules,
  unmappedServers: () => [],
  prepare: ({ environment, servers, extraArgs, ...call }, { alsoFolder, configFolder }) =>
    Promise.resolve({
      args: claudeArguments({ ...call, extraArgs: [...claudeMcpServers(servers), ...extraArgs], alsoFolder }),
      environment: claudeEnvironment(environment, configFolder),
      files: {},
      openReader,
      complete: (transcript) => Promise.resolve(transcript),
    }),
  judgeStall: ({ text, status, cause, now }) => {
    const failure = { text, subtype: null, error: cause, apiError: null, terminalReason: null, status };
    return { agentError: classifyFailure(failure), usageLimit: usageLimitOf(failure, null, now) };
  },
};

function openReader({ now, hear }: CallListener): CallReader {
  const reader = createOutputReader({
    now,
    onEvent: (event) => {
      hear(callEventOf(event));
    },
  });
  return {
    push: reader.push,
    pushError: () => undefined,
    end: ({ succeeded }) => {
      const transcript = reader.end();
      return succeeded ? { ...transcript, agentError: missingResult(transcript) } : transcript;
    },
  };
}
