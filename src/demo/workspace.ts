/**
 * The core of the demo workspace. Documentation and tests use these ids and people: do not change them. `organization.ts` adds data for
 * `steward demo` only.
 */
export const SITES = [
  { id: 1, host: 'localhost', name: 'Acme Analytics' },
  { id: 2, host: 'globex.localhost', name: 'Globex Data' },
];

export const CLIENTS = [
  { id: 1, siteId: 1, name: 'Acme Analytics', supportEmail: 'help@acme.test' },
  { id: 2, siteId: 2, name: 'Globex Data', supportEmail: 'help@globex.test' },
];

export const APPS = [
  {
    id: 'zylTKNVx',
    clientId: 1,
    slug: 'sales',
    label: 'Sales',
    description: 'Revenue by region and product.',
  },
  { id: 'Qm3vR8pa', clientId: 1, slug: 'churn', label: 'Churn', description: 'Who leaves, when, and why.' },
  {
    id: 'Hb7cW2ke',
    clientId: 2,
    slug: 'fleet',
    label: 'Fleet',
    description: 'Vehicles, routes and idle time.',
  },
];

export const STACKS = [
  { id: 'a0a91e46', appId: 'zylTKNVx', slug: 'overview', label: 'Overview' },
  { id: 'b1b82f57', appId: 'zylTKNVx', slug: 'trends', label: 'Trends' },
  { id: 'c2c73a68', appId: 'Qm3vR8pa', slug: 'churn', label: 'Churn' },
  { id: 'd3d64b79', appId: 'Hb7cW2ke', slug: 'fleet', label: 'Fleet' },
];

export type Person = {
  email: string;
  firstName: string;
  lastName: string;
  clientId?: number;
  isAdmin?: boolean;
  isStaff?: boolean;
  isSuperuser?: boolean;
  isActive?: boolean;
  apps?: string[];
};

export const PEOPLE: Person[] = [
  { email: 'root@steward.test', firstName: 'Robin', lastName: 'Root', isSuperuser: true },
  { email: 'staff@steward.test', firstName: 'Sam', lastName: 'Staff', isStaff: true },
  { email: 'admin@acme.test', firstName: 'Alex', lastName: 'Acme', clientId: 1, isAdmin: true },
  { email: 'admin@globex.test', firstName: 'Gwen', lastName: 'Globex', clientId: 2, isAdmin: true },
  {
    email: 'ada@acme.test',
    firstName: 'Ada',
    lastName: 'Lovelace',
    clientId: 1,
    apps: ['zylTKNVx', 'Qm3vR8pa'],
  },
  { email: 'grace@acme.test', firstName: 'Grace', lastName: 'Hopper', clientId: 1, apps: ['zylTKNVx'] },
  { email: 'edsger@globex.test', firstName: 'Edsger', lastName: 'Dijkstra', clientId: 2, apps: ['Hb7cW2ke'] },
  { email: 'idle@acme.test', firstName: 'Ida', lastName: 'Idle', clientId: 1, isActive: false },
];

export const USAGE_DAYS = 120;

const REGIONS = ['North', 'South', 'West', 'East'];

/** What the next version of Sales declares: data permissions, roles, and what its author expects for some people. */
export const SALES_DECLARATIONS = {
  attributes: {
    properties: {
      region: {
        type: 'array',
        title: 'Regions',
        description: 'The regions whose rows the person sees.',
        items: { type: 'string', enum: REGIONS },
        default: REGIONS,
      },
    },
    required: ['region'],
  },
  roles: [
    { key: 'analyst', label: 'Analyst', description: 'May download the rows.' },
    { key: 'planner', label: 'Planner', description: 'May enter targets.' },
  ],
};

const PERSONAS = [
  { name: 'A person of the north', membership: { region: ['North'] }, expect: { allowed: true } },
  { name: 'A person without a region', expect: { allowed: true, data_permissions: { region: REGIONS } } },
  { name: 'A mistyped key', membership: { regoin: ['North'] }, expect: { allowed: false } },
];

type DemoPackage = {
  slug: string;
  version: string;
  label: string;
  stacks: string[];
  declares?: Record<string, unknown>;
};

export const PACKAGES: DemoPackage[] = [
  { slug: 'sales', version: '1.0.0', label: 'Sales', stacks: ['overview', 'trends'] },
  { slug: 'sales', version: '1.1.0', label: 'Sales', stacks: ['overview', 'trends', 'forecast'] },
  {
    slug: 'sales',
    version: '1.2.0-beta.1',
    label: 'Sales',
    stacks: ['overview', 'trends', 'forecast'],
    declares: { ...SALES_DECLARATIONS, personas: PERSONAS },
  },
  { slug: 'vcdashboard', version: '0.9.0', label: 'VC Dashboard', stacks: ['portfolio'] },
  { slug: 'vcdashboard', version: '1.0.0', label: 'VC Dashboard', stacks: ['portfolio', 'deals'] },
  {
    slug: 'vcdashboard',
    version: '1.1.0-beta.1',
    label: 'VC Dashboard',
    stacks: ['portfolio', 'deals', 'funds'],
  },
];
