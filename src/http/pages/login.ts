import type { FastifyInstance } from 'fastify';
import type { Problem } from '../../lib/problems.ts';
import { alertBox, hiddenField, inputField } from './fields.ts';
import { fieldOf, queried } from './form-body.ts';
import { html } from './html.ts';
import { sentenceOf } from './messages.ts';
import { type Caller, isStaleForm, type PageDeps, type Visit, visitOf } from './page-context.ts';
import { sendRenewal } from './password-renewal.ts';
import { formTargets, homeOf, ownPath } from './redirects.ts';
import { goTo, sendPage } from './send-page.ts';

export type Branding = Awaited<ReturnType<Caller['branding']['get']>>;

/** What the person was about to do when we asked who they are. */
export type Arrival = {
  branding: Branding;
  /** The page that asked for the login, or null when they came by themselves. */
  next: string | null;
  destination: string;
};

/** `/login/`: by email address and password; on to `next`, else to where the client's people start. */
export const serveLogin = (app: FastifyInstance, deps: PageDeps): void => {
  app.get('/login/', async (request, reply) => {
    const visit = visitOf(request, reply, deps);
    const arrival = await arrivalOf(visit, queried(request, 'next'));
    if (await visit.user()) return goTo(reply, arrival.destination);
    return sendLogin(visit, arrival);
  });

  app.post('/login/', async (request, reply) => {
    const visit = visitOf(request, reply, deps);
    const arrival = await arrivalOf(visit, fieldOf(request, 'next'));
    return fieldOf(request, 'new_password') === '' ? logIn(visit, arrival) : renew(visit, arrival);
  });
};

const arrivalOf = async ({ reader }: Visit, wish: string | undefined): Promise<Arrival> => {
  const branding = await reader.branding.get({});
  const next = ownPath(wish);
  return { branding, next, destination: next ?? homeOf(branding.home_location) };
};

const logIn = async (visit: Visit, arrival: Arrival) => {
  const username = fieldOf(visit.request, 'username');
  const password = fieldOf(visit.request, 'password');
  const { problem } = await visit.submit((caller) => caller.sessions.create({ username, password }));
  if (!problem) return goTo(visit.reply, arrival.destination);
  if (problem.code === 'password_expired') return sendRenewal(visit, arrival, username, problem);
  // Another tab was faster.
  if (isStaleForm(problem) && (await visit.user())) return goTo(visit.reply, arrival.destination);
  return sendLogin(visit, arrival, { username, problem });
};

/** Replaces a password that is too old, then logs in with the new one. */
const renew = async (visit: Visit, arrival: Arrival) => {
  const username = fieldOf(visit.request, 'username');
  const password = fieldOf(visit.request, 'password');
  const newPassword = fieldOf(visit.request, 'new_password');
  const renewal = await visit.submit((caller) =>
    caller.passwords.renew({ username, password, new_password: newPassword }),
  );
  if (renewal.problem) return sendRenewal(visit, arrival, username, renewal.problem);
  const { problem } = await visit.submit((caller) =>
    caller.sessions.create({ username, password: newPassword }),
  );
  return problem ? sendLogin(visit, arrival, { username, problem }) : goTo(visit.reply, arrival.destination);
};

type Failure = { username: string; problem: Problem };

const sendLogin = (visit: Visit, arrival: Arrival, failure?: Failure) => {
  const { branding, next, destination } = arrival;
  const { fields } = failure?.problem ?? {};
  const username = failure?.username ?? '';
  const content = html`
<h1>${branding.login_title || `Welcome to ${branding.client_name}`}</h1>
${branding.login_subtitle !== '' && html`<p class="lead">${branding.login_subtitle}</p>`}
<form class="card" method="post" action="/login/">
${alertBox(failure ? sentenceOf(failure.problem) : null)}
${visit.csrfField()}
${next !== null && hiddenField('next', next)}
${inputField({
  name: 'username',
  label: 'Email address',
  type: 'email',
  autocomplete: 'username',
  value: username,
  errors: fields?.username,
  isFocused: username === '' || fields?.username !== undefined,
})}
${inputField({
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'current-password',
  errors: fields?.password,
  isFocused: username !== '' && fields?.username === undefined,
})}
<button>Log in</button>
<p class="aside"><a href="/password/reset/">Forgot your password?</a></p>
</form>`;
  const page = { brand: branding, title: 'Log in', content };
  return sendPage(visit.reply, page, {
    problem: failure?.problem ?? null,
    targets: formTargets(destination),
  });
};
