import { once } from 'node:events';
import PostalMime from 'postal-mime';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';

/** A mail as the server received it. */
export type TakenMail = { from: string; to: string[]; raw: string };

/** A response with this status, no response, or a closed connection. */
export type Fault = { status: number; text?: string } | 'hang' | 'die' | undefined;
type Stage = 'connect' | 'login' | 'sender' | 'recipient' | 'message';
/** Faults by stage. Tests change them while the server runs; `address` is that of the stage. */
export type Faults = Partial<Record<Stage, (address: string) => Fault>>;

type Answer = (error?: Error | null) => void;

class Refusal extends Error {
  readonly responseCode: number;

  constructor({ status, text = 'refused by the test' }: { status: number; text?: string }) {
    super(text);
    this.responseCode = status;
  }
}

const readAll = async (stream: AsyncIterable<Buffer>): Promise<string> =>
  Buffer.concat(await Array.fromAsync(stream)).toString('latin1');

export const parseMail = (mail: TakenMail) => PostalMime.parse(Buffer.from(mail.raw, 'latin1'));

export type TestSmtpServer = Awaited<ReturnType<typeof startSmtpServer>>;

/** A real SMTP server on loopback that keeps the mails and fails as `faults` says. */
export const startSmtpServer = async (options: SMTPServerOptions = {}) => {
  const taken: TakenMail[] = [];
  const faults: Faults = {};
  let peak = 0;

  const answerWith = (fault: Fault, session: SMTPServerSession, callback: Answer): void => {
    if (fault === 'hang') return;
    if (fault === 'die') cut(session);
    else callback(fault && new Refusal(fault));
  };
  const answer = (stage: Stage, session: SMTPServerSession, address: string, callback: Answer): void =>
    answerWith(faults[stage]?.(address), session, callback);
  const cut = ({ id }: SMTPServerSession): void => {
    for (const connection of server.connections) if (connection.id === id) connection._socket.destroy();
  };

  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    allowInsecureAuth: true,
    authOptional: true,
    disableReverseLookup: true,
    closeTimeout: 1,
    logger: false,
    onConnect: (session, callback) => {
      peak = Math.max(peak, server.connections.size);
      answer('connect', session, '', callback);
    },
    onAuth: ({ username = '' }, session, callback) =>
      answer('login', session, username, (error) => callback(error, { user: username })),
    onMailFrom: ({ address }, session, callback) => answer('sender', session, address, callback),
    onRcptTo: ({ address }, session, callback) => answer('recipient', session, address, callback),
    onData: (stream, session, callback) => {
      const { mailFrom, rcptTo } = session.envelope;
      const to = rcptTo.map(({ address }) => address);
      const from = mailFrom ? mailFrom.address : '';
      void readAll(stream).then((raw) => {
        const fault = faults.message?.(to[0] ?? '');
        // With `die` and `hang` the mail was accepted, and only the response is missing.
        if (fault === undefined || fault === 'die' || fault === 'hang') taken.push({ from, to, raw });
        answerWith(fault, session, callback);
        // Some tests kill the client in the middle of a mail.
      }, callback);
    },
    ...options,
  });
  // Expected: tests kill clients, or let them time out.
  server.on('error', () => {});
  const listener = server.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const bound = listener.address();
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0;

  const close = (): Promise<void> => new Promise((resolve) => server.close(resolve));

  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    taken,
    faults,
    /** The highest number of simultaneous connections. */
    peak: () => peak,
    recipients: (): string[] => taken.flatMap(({ to }) => to),
    close,
    [Symbol.asyncDispose]: close,
  };
};
