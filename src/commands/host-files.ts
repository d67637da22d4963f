import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { posix, win32 } from 'node:path'
import type { UserMachine } from '../config/load.ts'
import type { HostName } from '../core/host-setups.ts'

interface HostFile {
  /** Returns the path of the configuration file that lists the user's MCP servers for the host. */
  path(machine: UserMachine): string
  /** The instruction for making the host read the file again, as a sentence without its period. */
  reload: string
  /** Returns the folder from which the host reads the user's skills. Absent if the host reads no such folder. */
  skills?(machine: UserMachine): string
}

/** Each host's configuration file and skills folder. */
export const hostFiles: Readonly<Record<HostName, HostFile>> = {
  'claude-code': {
    path: (machine) => join(machine, machine.env.CLAUDE_CONFIG_DIR || machine.home, '.claude.json'),
    reload: 'Start a new session of Claude Code',
    skills: (machine) =>
      join(machine, machine.env.CLAUDE_CONFIG_DIR || join(machine, machine.home, '.claude'), 'skills'),
  },
  'claude-desktop': {
    path: (machine) => join(machine, settingsFolder(machine), 'Claude', 'claude_desktop_config.json'),
    reload: 'Quit Claude Desktop and open it again',
  },
  cursor: {
    path: (machine) => join(machine, machine.home, '.cursor', 'mcp.json'),
    reload: 'Restart Cursor',
    skills: (machine) => join(machine, machine.home, '.cursor', 'skills'),
  },
  vscode: {
    path: (machine) => join(machine, settingsFolder(machine), 'Code', 'User', 'mcp.json'),
    reload: 'Start the server in VS Code with MCP: List Servers',
    skills: (machine) => join(machine, copilotFolder(machine), 'skills'),
  },
  codex: {
    path: (machine) => join(machine, machine.env.CODEX_HOME || join(machine, machine.home, '.codex'), 'config.toml'),
    reload: 'Start Codex again',
    skills: (machine) => join(machine, machine.home, '.agents', 'skills'),
  },
  gemini: {
    path: (machine) => join(machine, machine.home, '.gemini', 'settings.json'),
    reload: 'Start Gemini CLI again',
    skills: (machine) => join(machine, machine.home, '.gemini', 'skills'),
  },
  copilot: {
    path: (machine) => join(machine, copilotFolder(machine), 'mcp-config.json'),
    reload: 'Start Copilot CLI again',
    skills: (machine) => join(machine, copilotFolder(machine), 'skills'),
  },
  opencode: {
    path: (machine) => {
      const folder = opencodeFolder(machine)
      const withComments = join(machine, folder, 'opencode.jsonc')
      return existsSync(withComments) ? withComments : join(machine, folder, 'opencode.json')
    },
    reload: 'Start opencode again',
    skills: (machine) => join(machine, opencodeFolder(machine), 'skills'),
  },
  qwen: {
    path: (machine) => join(machine, machine.home, '.qwen', 'settings.json'),
    reload: 'Start Qwen Code again',
    skills: (machine) => join(machine, machine.home, '.qwen', 'skills'),
  },
  continue: {
    path: (machine) =>
      join(machine, machine.env.CONTINUE_GLOBAL_DIR || join(machine, machine.home, '.continue'), 'config.yaml'),
    reload: 'Reload Continue, or start cn again',
  },
}

/** Returns whether the host was used here. A host that was used has a configuration folder; Claude Code has a file. */
export async function isFound(name: HostName, machine: UserMachine): Promise<boolean> {
  const path = hostFiles[name].path(machine)
  return name === 'claude-code' ? exists(path) : exists(join(machine, path, '..'))
}

async function exists(path: string): Promise<boolean> {
  return realpath(path).then(
    () => true,
    () => false,
  )
}

function copilotFolder(machine: UserMachine): string {
  return machine.env.COPILOT_HOME || join(machine, machine.home, '.copilot')
}

function opencodeFolder(machine: UserMachine): string {
  return join(machine, machine.env.XDG_CONFIG_HOME || join(machine, machine.home, '.config'), 'opencode')
}

/** Returns the folder in which a user's programs store their settings. */
function settingsFolder(machine: UserMachine): string {
  const { platform, home, env } = machine
  if (platform === 'darwin') return join(machine, home, 'Library', 'Application Support')
  if (platform === 'win32') return env.APPDATA || join(machine, home, 'AppData', 'Roaming')
  return env.XDG_CONFIG_HOME || join(machine, home, '.config')
}

function join({ platform }: UserMachine, ...parts: string[]): string {
  return (platform === 'win32' ? win32 : posix).join(...parts)
}
