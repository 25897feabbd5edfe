// Lists users and adds one. Run it with Node 22.18 or newer:
//   node people.ts new.person@acme.test
// STEWARD_URL, STEWARD_EMAIL and STEWARD_PASSWORD select the service and the login. The default is the demo.
import { createStewardClient, fieldErrors, isProblem, isUnreachable } from '@steward/client';

const {
  STEWARD_URL: url = 'http://localhost:8000',
  STEWARD_EMAIL: email = 'admin@acme.test',
  STEWARD_PASSWORD: password = 'steward-demo-1',
} = process.env;
const [newEmail = 'new.person@acme.test'] = process.argv.slice(2);
const steward = createStewardClient({ url });

/** Adds a user, who may already exist, and returns a message. */
const add = async (): Promise<string> => {
  try {
    const user = await steward.api.users.create.mutate({ email: newEmail, send_email: false });
    return `Added ${user.email} on ${user.date_joined.toISOString().slice(0, 10)}.`;
  } catch (error) {
    if (isProblem(error, 'user-exists')) return `${newEmail} is there already.`;
    if (isProblem(error, 'invalid-input')) return `Not added: ${JSON.stringify(fieldErrors(error))}`;
    throw error;
  }
};

try {
  await steward.login({ email, password });
  const added = await add();
  // Calls made together travel in one request.
  const [sites, users] = await Promise.all([
    steward.api.sites.list.query(),
    steward.api.users.list.query({}),
  ]);
  console.log(`${users.length} people at ${sites.map(({ domain }) => domain).join(', ')}:`);
  for (const user of users) console.log(`- ${user.email}${user.is_active ? '' : ' (inactive)'}`);
  console.log(added);
  await steward.logout();
} catch (error) {
  // Messages of Steward are written for users.
  console.error(isUnreachable(error) ? `${url} does not answer.` : String(error));
  process.exitCode = 1;
}
