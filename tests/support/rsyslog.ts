import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { AUTHORITY, CLIENT, SERVER } from './certificates.ts';
import { makeScratchFolder, writeFiles } from './files.ts';
import { freePort } from './tcp.ts';
import { until } from './time.ts';

/**
 * Debian's rsyslog with TLS, which requires a client certificate, and otherwise with its defaults: its queue is in memory. It appends the text
 * of each message to `output`.
 */
export const makeRsyslog = async () => {
  const folder = await makeScratchFolder();
  const port = await freePort();
  const output = folder.join('messages');
  await writeFiles(folder.path, {
    'ca.pem': AUTHORITY,
    'server.pem': SERVER.certificate,
    'server.key': SERVER.key,
    'client.pem': CLIENT.certificate,
    'client.key': CLIENT.key,
    'rsyslog.conf': `
global(workDirectory="${folder.path}" DefaultNetstreamDriver="gtls"
  DefaultNetstreamDriverCAFile="${folder.join('ca.pem')}"
  DefaultNetstreamDriverCertFile="${folder.join('server.pem')}"
  DefaultNetstreamDriverKeyFile="${folder.join('server.key')}")
module(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="x509/certvalid")
template(name="text" type="string" string="%structured-data% %msg%\\n")
input(type="imtcp" port="${port}" address="127.0.0.1" ruleset="steward")
ruleset(name="steward") { action(type="omfile" file="${output}" template="text") }
`,
  });
  let child: ChildProcess | undefined;

  const answers = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };

  return {
    output,
    settings: {
      EVENT_SYSLOG_URL: `syslog+tls://localhost:${port}`,
      EVENT_CA_FILE: folder.join('ca.pem'),
      EVENT_CERTIFICATE_FILE: folder.join('client.pem'),
      EVENT_KEY_FILE: folder.join('client.key'),
    },
    start: async (): Promise<void> => {
      const args = ['-n', '-f', folder.join('rsyslog.conf'), '-i', folder.join('pid')];
      child = spawn('rsyslogd', args, { stdio: 'ignore' });
      await until('rsyslog listens', answers);
    },
    /** Sends a signal, and waits for the end. */
    end,
    signal: (signal: NodeJS.Signals): void => void child?.kill(signal),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await end('SIGKILL');
      await folder[Symbol.asyncDispose]();
    },
  };
};
