import { dateOf, shortDateOf } from '../components/date-text.tsx';
import { RowCheckbox } from '../components/row-checkbox.tsx';
import classes from './access-matrix.module.css';
import { type AccessUser, isByGroup } from './use-cells.ts';

type Props = {
  user: AccessUser;
  app: { id: string; label: string };
  isGranted: boolean;
  /** Where the cell is: `row column`. */
  position: string;
  /** Why the box is locked; undefined if it is not. */
  reason: string | undefined;
  onToggle: (isRange: boolean) => void;
  onExplain: () => void;
};

/** Whether a person has an app, until when, and why. An app that a group gives cannot be revoked here, and does not end with a grant. */
export const MatrixCell = ({ user, app, isGranted, position, reason, onToggle, onExplain }: Props) => {
  const isLocked = isByGroup(user, app.id);
  const isChanged = isGranted !== user.apps.includes(app.id);
  const isEnding = isGranted && !isChanged && !isLocked && !user.is_admin;
  const end = isEnding ? user.ends.find((one) => one.app === app.id) : undefined;
  return (
    <div className={classes.cell} data-changed={isChanged || undefined}>
      <RowCheckbox
        aria-label={`${app.label} for ${user.email}${isChanged ? ', not saved' : ''}`}
        data-cell={position}
        title={reason}
        disabled={!user.is_changeable}
        aria-readonly={isLocked || undefined}
        checked={user.is_admin || isGranted}
        onChange={({ nativeEvent }) => {
          if (!isLocked) onToggle('shiftKey' in nativeEvent && nativeEvent.shiftKey === true);
        }}
        onKeyDown={({ key }) => {
          if (key === '?') onExplain();
        }}
      />
      {end && (
        <span className={classes.end} title={`Ends ${dateOf(end.expires_at)}`}>
          to {shortDateOf(end.expires_at)}
        </span>
      )}
      {/* The key does the same, so that Tab moves from box to box. */}
      <button
        type="button"
        className={classes.why}
        tabIndex={-1}
        aria-label={`Why? ${app.label} for ${user.email}`}
        title="Why? In the box, the key ? asks, too."
        onClick={onExplain}
      >
        Why?
      </button>
    </div>
  );
};
