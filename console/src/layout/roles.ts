/** The roles of a user. */
export type Roles = {
  is_superuser: boolean;
  is_staff: boolean;
  /** Ids of clients. */
  admin_of: readonly number[];
};

/** Who may see lists of people. */
export const canView = ({ is_superuser, is_staff, admin_of }: Roles): boolean =>
  is_superuser || is_staff || admin_of.length > 0;

/** Who sees all clients and people. */
export const canViewAll = ({ is_superuser, is_staff }: Roles): boolean => is_superuser || is_staff;

/** Who may change people, apps and clients. */
export const canAdminister = ({ is_superuser, admin_of }: Roles): boolean =>
  is_superuser || admin_of.length > 0;

/** Who may change what belongs to a client. */
export const administers = ({ is_superuser, admin_of }: Roles, client: number): boolean =>
  is_superuser || admin_of.includes(client);

/** Who may fetch and load app packages. */
export const canOperate = ({ is_superuser, is_staff }: Roles): boolean => is_superuser || is_staff;

/** Who may change what concerns all clients. */
export const isSuperuser = ({ is_superuser }: Roles): boolean => is_superuser;

const MEMBER: Roles = { is_superuser: false, is_staff: false, admin_of: [] };

/** The kinds of users, from few rights to all. */
export const KINDS = {
  members: MEMBER,
  'client admins': { ...MEMBER, admin_of: [1] },
  staff: { ...MEMBER, is_staff: true },
  superusers: { ...MEMBER, is_superuser: true },
} satisfies Record<string, Roles>;
