/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly id: string;
  /** Empty for the root. */
  readonly parent: string;
  readonly name: string;
  /** Instants in ms. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** 0 = unset, 2 = error. */
  readonly status: number;
}

type Field = { readonly number: number; readonly bytes: Buffer; readonly value: bigint };

/** Splits a protobuf message into its fields. */
function* fieldsOf(message: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = Number(varint());
    const [number, wire] = [tag >> 3, tag & 7];
    if (wire === 0) yield { number, bytes: Buffer.alloc(0), value: varint() };
    else {
      const size = wire === 2 ? Number(varint()) : wire === 1 ? 8 : 4;
      const bytes = message.subarray(at, (at += size));
      yield { number, bytes, value: wire === 1 ? bytes.readBigUInt64LE() : 0n };
    }
  }
}

const inside = (message: Buffer, number: number): readonly Field[] =>
  [...fieldsOf(message)].filter((field) => field.number === number);

/** Decodes the body of an ExportTraceServiceRequest (opentelemetry-proto, trace/v1). */
export function decodeSpans(body: Buffer): readonly ReceivedSpan[] {
  return inside(body, 1)
    .flatMap(({ bytes }) => inside(bytes, 2))
    .flatMap(({ bytes }) => inside(bytes, 2))
    .map(({ bytes }) => decodeSpan(bytes));
}

function decodeSpan(span: Buffer): ReceivedSpan {
  const [first = Buffer.alloc(0), id, parent, name] = [1, 2, 4, 5].map((number) => inside(span, number)[0]?.bytes);
  const instant = (number: number): number => Number((inside(span, number)[0]?.value ?? 0n) / 1_000_000n);
  const status = inside(span, 15)[0]?.bytes ?? Buffer.alloc(0);
  return {
    traceId: first.toString('hex'),
    id: id?.toString('hex') ?? '',
    parent: parent?.toString('hex') ?? '',
    name: name?.toString() ?? '',
    startedAt: instant(7),
    endedAt: instant(8),
    attributes: Object.fromEntries(inside(span, 9).map(({ bytes }) => decodeAttribute(bytes))),
    status: Number(inside(status, 3)[0]?.value ?? 0n),
  };
}

function decodeAttribute(pair: Buffer): readonly [string, string | number] {
  const [value] = [...fieldsOf(inside(pair, 2)[0]?.bytes ?? Buffer.alloc(0))];
  const name = inside(pair, 1)[0]?.bytes.toString() ?? '';
  if (value === undefined) return [name, ''];
  if (value.number === 1) return [name, value.bytes.toString()];
  return [name, value.number === 3 ? Number(value.value) : value.bytes.readDoubleLE()];
}
