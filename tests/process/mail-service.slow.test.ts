import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeDemoDir } from '../support/demo-data.ts';
import { startService } from '../support/service-process.ts';
import { parseMail, startSmtpServer } from '../support/smtp-server.ts';
import { until } from '../support/time.ts';

const service = suite('a service with a mail server');

service('sends the mails of requests, records them, and stops', async () => {
  await using folder = await makeDemoDir();
  await using smtp = await startSmtpServer();
  const settings = { DATA_DIR: folder.path, SMTP_URL: smtp.url, MAIL_FROM: 'steward@acme.test' };
  await using running = await startService('demo', settings);
  const { token } = await running.logIn('admin@acme.test', 'steward-demo-1');

  const body = { email: 'first@guest.test', initial_apps: ['zylTKNVx'] };
  await running.send('POST /jb/clients/1/users/invitations/', { token, body });
  await until('the mail has come', () => smtp.taken.length > 0);
  await until('it is recorded', async () => {
    const { json } = await running.send('GET /jb/mails/', { token });
    return json[0].status === 'sent';
  });
  const { json: invitations } = await running.send('GET /jb/clients/1/users/invitations/', { token });
  const { code, stderr } = await running.kill('SIGTERM');

  const [taken] = smtp.taken;
  if (!taken) return assert.unreachable();
  const mail = await parseMail(taken);
  assert.equal(mail.from, { name: 'Acme Analytics', address: 'steward@acme.test' });
  assert.ok(mail.text?.includes(`${running.address}/invitation/`));
  assert.is(invitations[0].invitation_email_count, 1);
  assert.equal([code, stderr], [0, '']);
});

service.run();
