/**
 * The payments library shows a card form for the first payment of a subscription in your own page.
 *
 *     <script src="https://payments.example/checkout/library.js"></script>
 *     <div id="card"></div>
 *     <script>
 *       const form = Payments.form({
 *         clientSecret,                          // from the subscription; give it only to the payer
 *         onResult({ result, detail }) { … },    // called with every result
 *       })
 *       form.mount('#card')                      // a selector or an element
 *     </script>
 *
 * `detail` explains the result in a sentence for the payer. `result` is one of:
 *   paid               the first payment was made, in this form or elsewhere, and the payer agreed to later payments
 *   declined           the card was declined; the payer can try again in the form
 *   agreement_failed   the bank refused to allow later payments: nothing was paid, and the checkout has ended
 *   ended              the checkout was canceled, has expired or does not exist
 *
 * The form is in an iframe from the service's address, so your page never sees a card number. Load the script with a
 * plain script element, not as a module. Your Content-Security-Policy must allow the service's address in `script-src`
 * and `frame-src`.
 */
;(() => {
  const script = document.currentScript
  if (!(script instanceof HTMLScriptElement))
    throw new Error('Payments: load the library as a plain script, not a module.')
  const { origin } = new URL(script.src)

  /**
   * Creates the form. Only the service's own page receives `manageToken`.
   * @typedef {{ result: 'paid' | 'declined' | 'agreement_failed' | 'ended', detail: string, manageToken?: string }} PaymentEvent
   * @param {{ clientSecret: string, onResult?: (event: PaymentEvent) => void }} options
   */
  function form({ clientSecret, onResult = () => {} }) {
    if (typeof clientSecret !== 'string' || clientSecret === '') {
      throw new TypeError('Payments.form: clientSecret must be the client secret of a subscription.')
    }
    let mounted = false
    return {
      /**
       * Adds the form to an element of the page.
       * @param {string | Element} target
       */
      mount(target) {
        const element = typeof target === 'string' ? document.querySelector(target) : target
        if (!(element instanceof Element)) throw new TypeError(`Payments.form: there is no element ${target}.`)
        if (mounted) throw new Error('Payments.form: the form is already mounted.')
        mounted = true
        element.append(createFrame(clientSecret, onResult))
      },
    }
  }

  /**
   * Creates the frame of the form.
   * @param {string} clientSecret
   * @param {(event: PaymentEvent) => void} onResult
   */
  function createFrame(clientSecret, onResult) {
    const frame = document.createElement('iframe')
    frame.src = `${origin}/checkout/form`
    frame.title = 'Card payment'
    frame.referrerPolicy = 'no-referrer'
    Object.assign(frame.style, { display: 'block', width: '100%', height: '24rem', border: '0' })
    frame.addEventListener('load', () => {
      // The frame sends its results through a separate channel, which no other page can use.
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = ({ data }) => {
        if (data.height !== undefined) frame.style.height = `${Math.ceil(Number(data.height))}px`
        else onResult(data)
      }
      frame.contentWindow?.postMessage({ clientSecret }, origin, [port2])
    })
    return frame
  }

  Object.defineProperty(window, 'Payments', { value: Object.freeze({ form }), enumerable: true })
})()
