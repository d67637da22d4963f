/** A simulated person. The person's browser supports cookies, redirects and forms, but no JavaScript. */
export interface Person {
  /** Opens an address and follows redirects until it gets a page, or until `stop` returns true for the next address. */
  open(address: string, stop?: (address: URL) => boolean): Promise<Page>
  /** Signs in at a `PlainProvider`, and consents or refuses. Returns the callback address without opening it. */
  signIn(address: string, decision?: 'confirm' | 'abort'): Promise<URL>
  /** Enters a code on the device page of a `PlainProvider`, and allows or denies the device. */
  enterCode(address: string, userCode: string, decision?: 'confirm' | 'abort'): Promise<void>
}

export interface Page {
  address: URL
  status: number
  text: string
}

export function createPerson(): Person {
  const cookies = new Map<string, string>()

  const send = async (address: URL, form?: Record<string, string>) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const body = form === undefined ? null : new URLSearchParams(form)
    const response = await fetch(address, {
      method: form === undefined ? 'GET' : 'POST',
      headers: { cookie },
      body,
      redirect: 'manual',
    })
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }

  const follow = async (start: string, form: Record<string, string> | undefined, stop: (address: URL) => boolean) => {
    let address = new URL(start)
    let sent = form
    for (let redirects = 0; redirects < 20; redirects++) {
      if (stop(address)) return { address, status: 0, text: '' }
      const response = await send(address, sent)
      const location = response.headers.get('location')
      if (location === null) return { address, status: response.status, text: await response.text() }
      address = new URL(location, address)
      sent = undefined
    }
    throw new Error(`Too many redirects from ${start}`)
  }

  const decide = async (from: Page, decision: 'confirm' | 'abort', stop: (address: URL) => boolean) => {
    let page = from
    for (let step = 0; step < 5 && page.address.pathname.startsWith('/interaction/'); step++) {
      const { prompt } = JSON.parse(page.text)
      page = await follow(`${page.address.href}/${prompt === 'login' ? 'login' : decision}`, {}, stop)
    }
    return page
  }

  return {
    open: (address, stop = () => false) => follow(address, undefined, stop),
    signIn: async (address, decision = 'confirm') => {
      const isCallback = (next: URL) => next.pathname === '/callback'
      const page = await decide(await follow(address, undefined, isCallback), decision, isCallback)
      if (!isCallback(page.address)) throw new Error(`Stopped at ${page.address}: ${page.status} ${page.text}`)
      return page.address
    },
    enterCode: async (address, userCode, decision = 'confirm') => {
      const never = () => false
      const form = await follow(address, undefined, never)
      const entered = { ...hiddenFields(form.text), user_code: userCode }
      const confirmationPage = await follow(actionOf(form), entered, never)
      const answer = decision === 'confirm' ? { confirm: 'yes' } : { abort: 'yes' }
      const { confirm: _, ...fields } = hiddenFields(confirmationPage.text)
      await decide(await follow(actionOf(confirmationPage), { ...fields, ...answer }, never), decision, never)
    },
  }
}

function actionOf({ text, address }: Page): string {
  return new URL(/action="([^"]+)"/.exec(text)?.[1] ?? '', address).href
}

function hiddenFields(text: string): Record<string, string> {
  const fields = text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, value]))
}
