/** The last line of a terminal, drawn anew each second while a run waits; what is printed meanwhile stands above it. */
export interface CountdownLine {
  readonly print: (text: string) => void;
  /** `until`: an instant in ms. */
  readonly begin: (until: number) => void;
  /** Takes the line away; without one nothing happens. */
  readonly end: () => void;
}

const BEAT_MS = 1_000;
/** Back to the begin of the line, which is then empty. */
const CLEAR = '\r\u001B[2K';

/** `words`: what the line says of an instant; it is cut at the terminal's width, since a line that wraps cannot be drawn anew. */
export function createCountdownLine({
  write,
  columns,
  words,
}: {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly words: (until: number) => string;
}): CountdownLine {
  let shown: { readonly until: number; readonly beat: NodeJS.Timeout } | null = null;
  const draw = (): void => {
    if (shown !== null) write(`${CLEAR}${words(shown.until).slice(0, Math.max(0, columns() - 1))}`);
  };
  const end = (): void => {
    if (shown === null) return;
    clearInterval(shown.beat);
    shown = null;
    write(CLEAR);
  };
  return {
    print: (text) => {
      if (shown !== null) write(CLEAR);
      write(text);
      draw();
    },
    begin: (until) => {
      end();
      shown = { until, beat: setInterval(draw, BEAT_MS).unref() };
      draw();
    },
    end,
  };
}
