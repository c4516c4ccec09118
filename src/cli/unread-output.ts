/** Ends the process once nobody reads its output: a reader that has seen enough, such as `head`, is no failure. A command that has something to finish hears SIGHUP instead, as when its terminal is gone. */
export function endWhenUnread(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', ({ code }: NodeJS.ErrnoException) => {
      // Each further line fails likewise.
      if (process.emit('SIGHUP', 'SIGHUP')) return;
      process.exit(code === 'EPIPE' ? 0 : 1);
    });
}
