const FIRST_NAMES = ['Anna', 'Boris', 'Clara', 'David', 'Elena', 'Felix', 'Hanna', 'Ivan', 'Julia', 'Karl'];
const LAST_NAMES = ['Adler', 'Baum', 'Conrad', 'Dorn', 'Engel', 'Falk', 'Gross', 'Haas', 'Irmer', 'Jung'];
const PLACES = ['berlin', 'vienna'];
const PLACE_SIZE = 98;

export type Invited = { email: string; firstName: string; lastName: string };

/** 195 people with different names and addresses. */
export const INVITED: Invited[] = PLACES.flatMap((place) =>
  FIRST_NAMES.flatMap((firstName) =>
    LAST_NAMES.map((lastName) => ({
      email: `${firstName}.${lastName}@${place}.test`.toLowerCase(),
      firstName,
      lastName,
    })),
  ).slice(0, PLACE_SIZE),
).slice(0, 195);

/** A row of the file that cannot be sent, and the address that replaces its own; without one, the app is wrong. */
type Fault = { email: string; app: string; fixed: string };

export const FAULTS: Fault[] = [
  { email: 'no-address', app: 'sales', fixed: 'lena.frey@graz.test' },
  { email: 'two@signs@graz.test', app: 'sales', fixed: 'two.signs@graz.test' },
  { email: 'ada@acme.test', app: 'sales', fixed: 'ada.lang@graz.test' },
  { email: '', app: 'churn', fixed: 'nina.moser@graz.test' },
  { email: 'paul.wolf@graz.test', app: 'sails', fixed: 'paul.wolf@graz.test' },
];

/** 200 rows, five of them with errors. */
export const csvOfPeople = (): string =>
  [
    'email,apps',
    ...INVITED.slice(0, 100).map(({ email }) => `${email},sales`),
    ...FAULTS.map(({ email, app }) => `${email},${app}`),
    ...INVITED.slice(100).map(({ email }) => `${email},sales`),
    '',
  ].join('\n');
