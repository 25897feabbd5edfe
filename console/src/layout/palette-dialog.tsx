import { Modal, Text, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useState } from 'react';
import { FocusReturn } from '../components/focus-return.tsx';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import classes from './palette.module.css';
import { type Action, type ActionGroup, usePaletteActions } from './palette-actions.ts';
import { partsOf, wordsOf } from './palette-match.ts';

const TYPING_MS = 120;
const LABEL = 'Find people, groups, apps, settings and actions';
const RESULTS = 'palette-results';

/** The search over everything. The focus stays in the field; arrow keys and the pointer choose a result, and Enter or a click opens it. */
export const PaletteDialog = ({ onClose }: { onClose: () => void }) => {
  const [query, setQuery] = useState('');
  const [search] = useDebouncedValue(query.trim(), TYPING_MS);
  const { groups, isSearching } = usePaletteActions(search);
  const [chosenId, choose] = useState<string | null>(null);
  const isCurrent = search === query.trim() && !isSearching;
  const actions = groups.flatMap((group) => group.actions);
  const first = isCurrent && search !== '' ? actions[0] : undefined;
  const active = actions.find(({ id }) => id === chosenId) ?? first;
  const run = (action: Action): void => {
    if (action.query !== undefined) {
      setQuery(action.query);
      choose(null);
      return;
    }
    onClose();
    action.onClick();
  };
  const runWhenCurrent = useDelayedRun(isCurrent, first, run);
  const move = (step: 1 | -1): void => {
    const index = active ? actions.indexOf(active) : step > 0 ? -1 : 0;
    const next = actions.at((index + step) % actions.length);
    if (next) choose(next.id);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key, nativeEvent } = event;
    if (nativeEvent.isComposing || !['ArrowDown', 'ArrowUp', 'Enter'].includes(key)) return;
    event.preventDefault();
    if (key !== 'Enter') move(key === 'ArrowDown' ? 1 : -1);
    else if (!isCurrent) runWhenCurrent();
    else if (active) run(active);
  };
  return (
    <Modal.Root
      opened
      onClose={onClose}
      size={600}
      yOffset={80}
      zIndex={300}
      returnFocus={false}
      {...AT_ONCE}
    >
      <FocusReturn />
      <Modal.Overlay {...AT_ONCE} />
      <Modal.Content aria-label="Search">
        <input
          className={classes.field}
          // biome-ignore lint/a11y/noAutofocus: opened to type; typing right after the shortcut must reach the field
          autoFocus
          data-autofocus
          role="combobox"
          aria-label={LABEL}
          aria-expanded={groups.length > 0}
          aria-controls={RESULTS}
          aria-activedescendant={active && optionId(active)}
          autoComplete="off"
          placeholder={LABEL}
          value={query}
          onChange={({ currentTarget }) => {
            setQuery(currentTarget.value);
            choose(null);
          }}
          onKeyDown={onKeyDown}
        />
        <Results
          groups={groups}
          words={search === '' ? [] : wordsOf(search)}
          active={active}
          onChoose={choose}
          onRun={run}
        />
        <div role="status">
          {isCurrent && search !== '' && actions.length > 0 && (
            <VisuallyHidden>{actions.length === 1 ? '1 result' : `${actions.length} results`}</VisuallyHidden>
          )}
          {groups.length === 0 && (
            <div className={classes.empty}>
              {isCurrent ? <NothingFound search={search} onClose={onClose} /> : <Text>Searching…</Text>}
            </div>
          )}
        </div>
      </Modal.Content>
    </Modal.Root>
  );
};

const AT_ONCE = { transitionProps: { duration: 0 } };

const optionId = ({ id }: Action): string => `palette ${id}`.replaceAll(' ', '-');

type ResultsProps = {
  groups: readonly ActionGroup[];
  /** To highlight. */
  words: readonly string[];
  active: Action | undefined;
  onChoose: (id: string) => void;
  onRun: (action: Action) => void;
};

const Results = ({ groups, words, active, onChoose, onRun }: ResultsProps) => {
  const activeId = active && optionId(active);
  useEffect(() => {
    if (activeId !== undefined) document.getElementById(activeId)?.scrollIntoView({ block: 'nearest' });
  }, [activeId]);
  return (
    <div role="listbox" id={RESULTS} aria-label="Results" className={classes.results}>
      {groups.map(({ group, actions }) => (
        // biome-ignore lint/a11y/useSemanticElements: a list box has groups, and no fields
        <div key={group} role="group" aria-label={group} className={classes.group}>
          <div aria-hidden className={classes.heading}>
            {group}
          </div>
          {actions.map((action) => (
            <button
              key={action.id}
              id={optionId(action)}
              type="button"
              role="option"
              tabIndex={-1}
              aria-selected={action === active}
              className={classes.option}
              // Ignores events caused by the list scrolling below a resting pointer.
              onPointerMove={({ movementX, movementY }) => {
                if (movementX !== 0 || movementY !== 0) onChoose(action.id);
              }}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => onRun(action)}
            >
              <action.icon className={classes.icon} size={16} stroke={1.6} aria-hidden />
              <span className={classes.label}>
                <Highlighted text={action.label} words={words} />
              </span>
              {action.description !== undefined && (
                <span className={classes.description}>{action.description}</span>
              )}
            </button>
          ))}
        </div>
      ))}
    </div>
  );
};

const Highlighted = ({ text, words }: { text: string; words: readonly string[] }) =>
  partsOf(text, words).map(({ text: part, isMatch }, index) =>
    isMatch ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts are replaced together
      <mark key={index} className={classes.match}>
        {part}
      </mark>
    ) : (
      part
    ),
  );

/** What else the user can do, if they may. */
const NothingFound = ({ search, onClose }: { search: string; onClose: () => void }) => {
  const { roles } = useSession();
  return (
    <>
      <Text>Nothing matches “{search}”. Try another name or email address.</Text>
      {mayDo(roles, 'manage-people') && (
        <Link className="text-link" to="/invite" onClick={onClose}>
          Invite people
        </Link>
      )}
    </>
  );
};

/** If the user presses Enter before the results have arrived, opens the first one when they do. */
const useDelayedRun = (isCurrent: boolean, first: Action | undefined, run: (action: Action) => void) => {
  const [isWaiting, setWaiting] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `run` is another function after each rendering
  useEffect(() => {
    if (!isWaiting || !isCurrent) return;
    setWaiting(false);
    if (first) run(first);
  }, [isWaiting, isCurrent, first]);
  return (): void => setWaiting(true);
};
