import { readFileSync } from 'node:fs';
import type { Agent } from 'node:http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { RunSpan } from '../core/journal/spans.ts';

type ReadableSpan = Parameters<OTLPTraceExporter['export']>[0][number];

/** Maximum time for all spans of a job, in ms, unless OTEL_EXPORTER_OTLP_TIMEOUT is shorter. */
const WITHIN_MS = 10_000;

/** OTLP's numbers for the trace flag, the kind of span, and the statuses. */
const [SAMPLED, INTERNAL, UNSET, ERROR] = [1, 0, 0, 2];

/**
 * Sends spans by http/protobuf to the collector in the standard variables OTEL_EXPORTER_OTLP_*; returns the reason why
 * they were not accepted, as a part of a sentence, or null. `proxy` is an HTTP agent that uses a proxy, or null.
 */
export async function sendSpans(
  { traceId, spans }: { readonly traceId: string; readonly spans: readonly RunSpan[] },
  { attributes, proxy }: { readonly attributes: Readonly<Record<string, string>>; readonly proxy: Agent | null },
): Promise<string | null> {
  // For an address that it cannot use, the exporter would send to a collector on this machine.
  const name = (process.env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? '').trim() === '' ? 'OTLP' : 'OTLP_TRACES';
  const endpoint = `OTEL_EXPORTER_${name}_ENDPOINT`;
  const address = process.env[endpoint] ?? '';
  if (URL.parse(address) === null || !/^https?:\/\/\S+$/i.test(address))
    return `${endpoint} is not an address that begins with http:// or https:// and has no blanks`;
  const resource = { attributes, merge: () => resource, getRawAttributes: () => Object.entries(attributes) };
  const contextOf = (spanId: string) => ({ traceId, spanId, traceFlags: SAMPLED });
  const readable = spans.map((span): ReadableSpan => ({
    name: span.name,
    kind: INTERNAL,
    spanContext: () => contextOf(span.id),
    ...(span.parent === null ? {} : { parentSpanContext: contextOf(span.parent) }),
    startTime: timeOf(span.startedAt),
    endTime: timeOf(span.endedAt),
    duration: timeOf(span.endedAt - span.startedAt),
    status: span.failed === null ? { code: UNSET } : { code: ERROR, message: span.failed },
    attributes: { ...span.attributes, ...(span.failed === null ? {} : { 'error.type': span.failed }) },
    ...{ links: [], events: [], ended: true, resource, instrumentationScope: { name: 'ralph-action' } },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  }));
  const { promise, resolve } = Promise.withResolvers<string | null>();
  setTimeout(resolve, WITHIN_MS, 'there was no answer in time').unref();
  const exporter = new OTLPTraceExporter(proxy === null ? {} : { httpAgentOptions: withCertificates(proxy) });
  exporter.export(readable, ({ error }) => {
    resolve(error?.message ?? null);
  });
  return promise;
}

/** Adds the certificates that the standard variables name to an agent, as the exporter does for its own agent. */
function withCertificates(agent: Agent): () => Agent {
  const read = (name: string): Buffer | undefined => {
    const { [`OTEL_EXPORTER_OTLP_TRACES_${name}`]: ofTraces, [`OTEL_EXPORTER_OTLP_${name}`]: ofAll } = process.env;
    const path = ofTraces || ofAll;
    return path ? readFileSync(path) : undefined;
  };
  const [ca, cert, key] = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].map(read);
  const { options } = agent as { readonly options?: object };
  Object.assign(agent, { options: { ...options, ca, cert, key } });
  return () => agent;
}

/** Returns an instant or a duration in seconds and nanoseconds. */
function timeOf(ms: number): [number, number] {
  const whole = Math.max(0, Math.round(ms));
  return [Math.floor(whole / 1000), (whole % 1000) * 1_000_000];
}
