// One tab of all that show the same keeps a connection open and tells the others: browsers open six to a host over
// HTTP/1.1, and with one for each tab there would soon be none left to ask for anything.

type Of<M> = {
  /** Opens the connection, and tells how to close it. Whoever takes it over from another tab may have missed something. */
  hold: (tell: (message: M) => void, isHeir: boolean) => () => void;
  hear: (message: M) => void;
};
type Said<M> = { message: M } | { ask: true };

/** Takes part until it is told to leave. Where tabs cannot agree, as over plain HTTP, each has its own. */
export function share<M>(name: string, of: Of<M>): () => void {
  const locks = globalThis.navigator?.locks;
  if (!locks) return of.hold(of.hear, false);
  const channel = new BroadcastChannel(name);
  const left = new AbortController();
  let last: M | undefined;
  let isHolder = false;
  channel.onmessage = ({ data }: MessageEvent<Said<M>>) => {
    if ("message" in data) {
      last = data.message;
      of.hear(data.message);
    } else if (isHolder && last !== undefined) channel.postMessage({ message: last });
  };
  channel.postMessage({ ask: true });
  const holding = () =>
    new Promise<void>((done) => {
      isHolder = true;
      const tell = (message: M) => {
        if (left.signal.aborted) return;
        last = message;
        channel.postMessage({ message });
        of.hear(message);
      };
      const close = of.hold(tell, last !== undefined);
      left.signal.addEventListener("abort", () => {
        close();
        done();
      });
    });
  locks
    .request(name, { signal: left.signal }, () => (left.signal.aborted ? undefined : holding()))
    .catch(() => undefined);
  return () => {
    left.abort();
    channel.close();
  };
}
