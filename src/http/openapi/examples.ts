/** Data of the demo workspace: the reference shows it, and its "Test Request" finds it. */
const NOW = '2026-11-21T12:00:00.000Z';
const LOCAL_ADDRESS = '127.0.0.1';
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64)';
const APP = 'zylTKNVx';
const STACK = 'a0a91e46';
const PASSWORD = 'steward-demo-1';
const NEW_PASSWORD = 'a longer one, of words';
const TOKEN = '9c1f0a7be54d2c86a3f90b7715de48c2a6b0f3d1';
const RESET_TOKEN = '7.vGZ2t0y5bJq1xk8';
const KEY = 'dxNMN7-sm07-U8kguMulzsRDsgp2Kdav';
const SIGNATURE = 'aAUIAwQm-ava0n3CfbIEgG-6ouMt417mY_g-YR6s7-s';
const EXPIRES_AT = '2026-12-05T12:00:00.000Z';
const SHA256 = '777ddd7901db15c70c26d8d361280bade0d51ca6391b268d61aced47c8b4759e';
const RULE = { rule: 'min_length', message: 'At least 8 characters.' };

const ada = {
  email: 'ada@acme.test',
  handle: '@ada',
  first_name: 'Ada',
  last_name: 'Lovelace',
  extra: {},
  is_active: true,
  is_demo_user: false,
  profile_color: 'd6604d',
  profile_avatar: 'http://localhost:8000/avatars/a.svg',
  apps: [APP, 'Qm3vR8pa'],
  clientadmin_of: [],
  last_login: '2026-11-21T08:30:12.345Z',
  date_joined: NOW,
  last_activated: null,
  last_deactivated: null,
};
const { clientadmin_of, ...adaOfClient } = ada;
const admin = {
  ...ada,
  email: 'admin@acme.test',
  handle: '@admin',
  first_name: 'Alex',
  last_name: 'Acme',
  profile_color: '8e6bbf',
  apps: [],
  clientadmin_of: [1],
  last_login: null,
};
const guest = {
  ...ada,
  email: 'guest@acme.test',
  handle: '@guest',
  first_name: 'Gil',
  last_name: 'Guest',
  profile_avatar: 'http://localhost:8000/avatars/g.svg',
  apps: [APP],
};
const newGuest = { email: guest.email, extra: { team: 'north' }, initial_apps: [APP] };

const token = {
  id: 1,
  name: '',
  created_at: NOW,
  last_used: NOW,
  last_address: LOCAL_ADDRESS,
  is_current: true,
};

const publicTexts = {
  login_title: 'Welcome to Acme Analytics',
  login_subtitle: 'Log in to see your apps.',
  support_email: 'help@acme.test',
  home_location: '/',
  subtitle_404: 'We could not find that page',
  message_404: 'The page may have moved, or the link may be incomplete.',
  subtitle_500: 'Something went wrong on our side',
  message_500: 'Please try again in a moment.',
};

const clientInvitation = {
  ...newGuest,
  id: 1,
  user: admin,
  key: KEY,
  date_invited: NOW,
  invitation_email_count: 0,
};
const invitation = { ...clientInvitation, is_demo_user: 'false' };

const sales = { id: APP, slug: 'sales', label: 'Sales' };
const maintenance = { in_maintenance: false, maintenance_message: '' };
const clientApp = {
  ...sales,
  description: 'Revenue by region and product.',
  help_html: '',
  footer_html: '',
  show_help: false,
  show_footer: false,
};

const usageEntry = {
  action_description: 'Opened Overview of Sales',
  email: ada.email,
  full_name: 'Ada Lovelace',
  timestamp: '2026-11-21T11:55:00.000Z',
  action: 'STACK_ACCESS',
  extra: {
    app: sales.slug,
    stack: STACK,
    app_id: APP,
    request: {
      path: '/apps/sales/overview/',
      session: 'demo-mwqcp9uo',
      META: {
        HTTP_USER_AGENT: BROWSER,
        SERVER_NAME: 'localhost',
        HTTP_REFERER: 'http://localhost:8000/apps/sales/overview/',
        REMOTE_ADDR: LOCAL_ADDRESS,
        CONTENT_TYPE: 'text/html',
        REQUEST_METHOD: 'GET',
        HTTP_HOST: 'localhost:8000',
        SERVER_PORT: '8000',
        QUERY_STRING: '',
        HTTP_ACCEPT_ENCODING: 'gzip, deflate, br',
      },
    },
  },
};

const mail = {
  id: 1,
  kind: 'invitation',
  recipient: guest.email,
  client: 1,
  subject: "You've been invited to Acme Analytics",
  status: 'queued',
  attempts: 0,
  last_error: null,
  created_at: NOW,
  next_attempt_at: NOW,
  sent_at: null,
  failed_at: null,
};

/** By the name of the component. */
export const EXAMPLES: Readonly<Record<string, unknown>> = {
  TokensCreateInput: { username: ada.email, password: PASSWORD },
  TokensCreateResponse: { token: TOKEN },
  TokensCreateByEmailInput: { email: ada.email, password: PASSWORD },
  TokensCreateNamedInput: { name: 'Nightly export' },
  TokensCreateNamedResponse: {
    ...token,
    id: 2,
    name: 'Nightly export',
    last_address: '',
    is_current: false,
    token: TOKEN,
  },
  Token: token,
  Session: {
    id: 1,
    created_at: NOW,
    last_used: NOW,
    last_address: LOCAL_ADDRESS,
    user_agent: BROWSER,
    is_current: true,
  },
  SessionsCreateInput: { username: ada.email, password: PASSWORD },
  SessionsConfirmInput: { password: PASSWORD },
  SessionsCreateResponse: { user: ada, csrf_token: 'pTq0cVd2Y8Qn7mFzJ1s5wR' },
  SessionsCurrentResponse: { user: ada },
  PasswordsChangeInput: { password: PASSWORD, new_password: NEW_PASSWORD },
  PasswordsRenewInput: { username: ada.email, password: PASSWORD, new_password: NEW_PASSWORD },
  PasswordsRequestResetInput: { email: ada.email },
  PasswordsVerifyTokenInput: { token: RESET_TOKEN },
  PasswordsVerifyTokenResponse: { email: ada.email, rules: [RULE] },
  PasswordsResetInput: { token: RESET_TOKEN, password: NEW_PASSWORD },
  PasswordsCheckInput: { password: 'summer', email: ada.email },
  PasswordsCheckResponse: {
    passed: false,
    rules: [
      { ...RULE, passed: false },
      { rule: 'max_length', message: 'At most 1024 characters.', passed: true },
      {
        rule: 'common',
        message: 'Must not be a common password, even with digits or symbols added.',
        passed: false,
      },
    ],
  },
  PasswordsPreviewExpiryResponse: {
    total: 1,
    users: [{ email: ada.email, last_password_set: '2026-07-24T12:00:00.000Z' }],
  },
  BrandingGetResponse: { client_name: 'Acme Analytics', ...publicTexts },
  Site: { id: 1, domain: 'localhost:8000', name: 'Acme Analytics' },
  SitesCreateInput: { domain: 'initech.localhost:8000', name: 'Initech' },
  Client: {
    id: 1,
    site: { domain: 'localhost:8000', formatted_name: 'localhost' },
    name: 'Acme Analytics',
    default_from_email: '',
    invitation_subject: '',
    invitation_body: '',
    ...publicTexts,
    password_min_length: 8,
    password_allow_common: false,
    password_require_numeric: false,
    password_require_upper: false,
    password_require_lower: false,
    password_require_special: false,
    password_expiration_days: 0,
  },
  ClientsUpdateInput: { login_title: 'Welcome back', password_min_length: 10 },
  ClientsCreateInput: { name: 'Initech', site: 1 },
  ClientUser: { ...adaOfClient, last_login: null, last_password_set: NOW },
  ClientApp: clientApp,
  ClientInvitation: clientInvitation,
  ClientsInviteInput: newGuest,
  User: ada,
  UsersCreateInput: {
    email: 'nia@acme.test',
    first_name: 'Nia',
    last_name: 'New',
    extra: {},
    is_demo_user: false,
    apps: [APP],
  },
  UsersUpdateInput: { first_name: 'Augusta', apps: [APP] },
  RolesUpdateInput: { is_staff: true },
  RolesSetClientAdminInput: { is_admin: true },
  Invitation: invitation,
  InvitationDetails: {
    ...invitation,
    client: 1,
    status: 'pending',
    expires_at: EXPIRES_AT,
    closed_at: null,
  },
  InvitationsCopyLinkResponse: {
    url: `http://localhost:8000/invitation/${KEY}/?signature=${SIGNATURE}`,
    expires_at: EXPIRES_AT,
  },
  InvitationsPreviewInput: { signature: SIGNATURE },
  InvitationPage: {
    status: 'pending',
    email: guest.email,
    client_name: 'Acme Analytics',
    invitation_body: '',
    support_email: 'help@acme.test',
    inviter_name: 'Alex Acme',
    apps: [sales.label],
    expires_at: EXPIRES_AT,
    closed_at: null,
    needs: 'password',
    home_location: '/',
    rules: [RULE],
  },
  InvitationsAcceptInput: {
    signature: SIGNATURE,
    first_name: 'Gil',
    last_name: 'Guest',
    password: NEW_PASSWORD,
  },
  InvitationsAcceptResponse: { user: guest, home_location: '/' },
  InvitationsCreateInput: { ...newGuest, client: 1, is_demo_user: 'false' },
  InvitationsUpdateInput: { initial_apps: [APP, 'Qm3vR8pa'] },
  App: {
    ...clientApp,
    usage: {
      30: { actions: 128, users: 2 },
      60: { actions: 122, users: 2 },
      90: { actions: 128, users: 2 },
    },
    package_info: { slug: sales.slug, version: '1.1.0', sha256: SHA256, loaded_at: NOW },
    ...maintenance,
  },
  AppStack: { id: STACK, slug: 'overview', label: 'Overview' },
  AppStatus: { ...sales, version: '1.1.0', ...maintenance },
  AppVersion: {
    id: 1,
    version: '1.0.0',
    sha256: SHA256,
    size_bytes: 341,
    fetched_at: NOW,
    fetched_by: 'staff@steward.test',
    loads: [{ loaded_at: NOW, loaded_by: 'staff@steward.test', is_rollback: false }],
    is_current: true,
    is_staged: true,
  },
  AppsRollbackInput: { app_version: '1.0.0' },
  AppsRollbackResponse: { message: 'Rolled back sales to version 1.0.0' },
  AppsUpdateInput: { label: sales.label, in_maintenance: true, maintenance_message: 'Back at noon.' },
  UsageEntry: usageEntry,
  UsageListResponse: { items: [{ ...usageEntry, id: 1 }], next_cursor: '1795262100000.1' },
  UsageDay: { day: '2026-11-20', actions: 6, users: 2 },
  UsageTopResponse: {
    users: [{ email: 'grace@acme.test', full_name: 'Grace Hopper', actions: 77, days: 30 }],
    stacks: [{ stack: 'b1b82f57', label: 'Trends', actions: 72 }],
  },
  UsageRecordInput: {
    id: '4711',
    email: ada.email,
    timestamp: usageEntry.timestamp,
    action: usageEntry.action,
    action_description: usageEntry.action_description,
    extra: { stack: STACK },
  },
  UsageRecordResponse: { inserted: 1, duplicates: 0 },
  SavedFilter: {
    user: ada.email,
    stack: 'Overview for Sales App',
    hash: 'spring',
    name: 'Spring',
    created: NOW,
    modified: NOW,
  },
  SavedFiltersCreateInput: { stack_id: STACK, hash: 'spring', name: 'Spring' },
  SavedFiltersReplaceInput: { stack_id: STACK, hash: 'spring', name: 'Spring and summer' },
  AppPackagesFetchInput: { app_version: 'latest' },
  AppPackagesFetchResponse: { message: 'Loaded sales version 1.1.0' },
  EnvironmentReadResponse: { environment: 'development', upload_bucket_name: 'steward-uploads' },
  Mail: mail,
  MailDetails: {
    ...mail,
    from: { name: 'Acme Analytics', address: 'steward@localhost' },
    text: 'Hello,\n\nYou have been invited to Acme Analytics.\n',
    html: '<!doctype html>\n<p>You have been invited to Acme Analytics.</p>\n',
  },
  AuditEntry: {
    id: 5,
    timestamp: NOW,
    action: 'user.update',
    actor: admin.email,
    target: ada.email,
    clients: [1],
    details: { first_name: { from: 'Ada', to: 'Augusta' } },
    request_id: '3d5c9a54-efb2-4018-b131-b5c402a96e39',
    address: LOCAL_ADDRESS,
  },
};

/** Path parameters by name. */
export const PATH_EXAMPLES: Readonly<Record<string, unknown>> = {
  email: ada.email,
  app_id: APP,
  app_slug: sales.slug,
  stack_id: STACK,
  hash: 'spring',
  id: 1,
};
