import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** What a message of RFC 5424 says. */
export type SyslogMessage = {
  priority: number;
  timestamp: string;
  hostname: string;
  appName: string;
  msgId: string;
  /** Of the only element of the structured data, unescaped. */
  parameters: Record<string, string>;
  sdId: string;
  /** The text after the structured data. */
  text: string;
};

/** The grammar of RFC 5424, 6, as far as messages have a time and one element. */
const MESSAGE =
  /^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z) ([\x21-\x7e]{1,255}) ([\x21-\x7e]{1,48}) ([\x21-\x7e]{1,128}) ([\x21-\x7e]{1,32}) \[([^\s="\]]{1,32})((?: [^\s="\]]{1,32}="(?:\\["\\\]]|[^"\\\]])*")*)\] (.*)$/su;

/** @throws Error if it is none */
export const parseSyslog = (message: string): SyslogMessage => {
  const match = MESSAGE.exec(message);
  if (!match) throw new Error(`no message of RFC 5424: ${message}`);
  const [, priority, timestamp = '', hostname = '', appName = '', , msgId = '', sdId = '', data = ''] = match;
  const parameters = [...data.matchAll(/ ([^=]+)="((?:\\.|[^"\\])*)"/gsu)].map(
    ([, name = '', value = '']) => [name, value.replaceAll(/\\(.)/gsu, '$1')],
  );
  return {
    ...{ priority: Number(priority), timestamp, hostname, appName, msgId, sdId },
    ...{ parameters: Object.fromEntries(parameters), text: match[9] ?? '' },
  };
};

/** The whole messages of a stream with octet counting, and what follows them. */
export const readFrames = (bytes: Buffer): { messages: string[]; rest: Buffer } => {
  const messages: string[] = [];
  let rest = bytes;
  for (;;) {
    const [head = '', length] = /^([1-9]\d*) /.exec(rest.subarray(0, 12).toString('latin1')) ?? [];
    const end = head.length + Number(length);
    if (head === '' || rest.length < end) return { messages, rest };
    messages.push(rest.subarray(head.length, end).toString());
    rest = rest.subarray(end);
  }
};

type ServerOptions = {
  /** Default: none, plain TCP. */
  tls?: TlsOptions;
  /** What the server does with a connection. Default: reads it to the end, and closes it. */
  onConnection?: (socket: Socket, number: number) => void;
};

/** A syslog server on loopback that keeps what it reads. Disposing it ends its connections. */
export const startSyslogServer = async ({ tls, onConnection }: ServerOptions = {}) => {
  const sockets = new Set<Socket>();
  const read: Buffer[] = [];
  let connections = 0;
  const accept = (socket: Socket): void => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    if (onConnection) {
      onConnection(socket, connections);
      return;
    }
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => {
      read.push(Buffer.concat(chunks));
      socket.end();
    });
  };
  const options = { allowHalfOpen: true };
  const server = tls ? createTlsServer({ ...options, ...tls }, accept) : createServer(options, accept);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server
  return {
    port,
    messages: () => read.flatMap((bytes) => readFrames(bytes).messages.map(parseSyslog)),
    ids: () =>
      read.flatMap((bytes) =>
        readFrames(bytes).messages.map((each) => Number(parseSyslog(each).parameters.id)),
      ),
    connections: () => connections,
    [Symbol.dispose]: (): void => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};
