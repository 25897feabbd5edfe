import { type Html, html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { loginTarget } from './login.ts';
import {
  attempt,
  type Caller,
  formField,
  isFormRejected,
  type PageContext,
  type Pages,
  queryParameter,
} from './page-context.ts';
import { formActionSources, loginPath, redirectTo } from './page-layout.ts';
import { alertBox, hiddenField, inputField } from './parts.ts';

type Target = Awaited<ReturnType<typeof loginTarget>>;

/** `/login/enrol/` sets up an authenticator app, after `/login/` has asked for the password, if a policy demands it. */
export const loginEnrolPages: Pages = {
  'GET /login/enrol/': async (context) => {
    const target = await loginTarget(context, queryParameter(context, 'next'));
    return sendEnrolment(context, target);
  },

  'POST /login/enrol/': async (context) => {
    const target = await loginTarget(context, formField(context, 'next'));
    const code = formField(context, 'code');
    const { value, problem } = await context.submit((caller) => caller.sessions.enrol({ code }));
    if (value) return sendRecoveryCodes(context, target, value.recovery_codes);
    const isOver = problem.code === 'invalid-challenge';
    // The user has completed the login with another tab.
    const isLoggedIn = (isOver || isFormRejected(problem)) && (await context.currentUser());
    if (isLoggedIn && isOver) return redirectTo(context.reply, target.destination);
    return sendEnrolment(context, target, problem);
  },
};

const sendEnrolment = async (context: PageContext, target: Target, problem: Problem | null = null) => {
  const { value: enrolment } = await attempt(() => context.reader.sessions.enrolment({}));
  if (enrolment) return sendForm(context, target, enrolment, problem);
  if (await context.currentUser()) return redirectTo(context.reply, target.destination);
  return redirectTo(context.reply, loginPath(target.next ?? '/', problem ? 'late' : undefined));
};

type Enrolment = Awaited<ReturnType<Caller['sessions']['enrolment']>>;

const sendForm = async (
  context: PageContext,
  { branding, next, destination }: Target,
  { secret, otpauth_url }: Enrolment,
  problem: Problem | null,
) => {
  const title = 'Set up a second factor';
  const content = html`
<h1>${title}</h1>
<p class="lead">To log in to ${branding.client_name}, you need an authenticator app beside your password, such as the one of
your password manager or phone.</p>
<form class="card" method="post" action="/login/enrol/">
${alertBox(problem)}
${context.csrfField()}
${next !== null && hiddenField('next', next)}
<ol class="steps">
<li><p>Scan this with the app, or <a href="${otpauth_url}">open it in the app</a> on this device.</p>
${await qrCode(otpauth_url)}
<p class="aside">If you cannot scan it, type this secret: <strong class="secret">${inGroups(secret)}</strong></p></li>
<li>${inputField({
    name: 'code',
    label: 'Enter the code that the app shows',
    autocomplete: 'one-time-code',
    inputMode: 'numeric',
    value: '',
    errors: problem?.fields?.code,
    isFocused: problem !== null,
  })}</li>
</ol>
<button>Set up and log in</button>
<p class="aside"><a href="${loginPath(next ?? '/')}">Back to login</a></p>
</form>`;
  return context.sendPage({ title, content, problem, formAction: formActionSources(destination) });
};

const sendRecoveryCodes = (context: PageContext, { destination }: Target, codes: readonly string[]) =>
  context.sendCard({
    title: 'Save your recovery codes',
    body: html`<p>You are logged in. Without the app, each of these codes logs you in once. They are shown only now: save them in your
password manager, or print them.</p>
<ul class="codes">${codes.map((code) => html`<li>${code}</li>`)}</ul>
<p><a class="button" href="${destination}">I have saved them: continue</a></p>`,
  });

/** In groups of four, which are easier to type. Apps ignore spaces. */
const inGroups = (secret: string): string => secret.match(/.{1,4}/g)?.join(' ') ?? secret;

/** Modules of white space around a QR code (ISO/IEC 18004). */
const QUIET_ZONE = 4;

/** Black on white in every color scheme: not all apps read it inverted. */
const qrCode = async (text: string): Promise<Html> => {
  // Most installations never show one.
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const modules = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])));
  return html`<svg class="qr" role="img" aria-label="QR code for your authenticator app" viewBox="0 0 ${size} ${size}"
width="200" height="200" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/>
<path d="${modules.join('')}" fill="#000"/></svg>`;
};
