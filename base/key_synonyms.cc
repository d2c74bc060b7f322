#include "base/key_synonyms.h"

#include <algorithm>
#include <array>

namespace segue {
namespace {

struct Row {
  std::string_view keys;   // ours, the first that is known counts
  std::string_view names;  // of others, without dashes
  std::string_view remark = {};
};

constexpr std::array kRows{
    Row{"optimizer.lr", "learningrate baselr initiallr initlr maxlr peaklr lrate"},
    Row{"schedule.eta_min", "minlr lrmin minimumlr minlearningrate endlr finallr endlearningrate stopminlr"},
    Row{"schedule.kind",
        "lrscheduler lrschedulertype scheduler schedulertype lrdecaystyle decaylr lrschedule lrpolicy schedule"},
    Row{"schedule.warmup_step",
        "warmup warmupsteps warmupiters warmupupdates numwarmupsteps nwarmup lrwarmupiters lrwarmupsteps"},
    Row{"warm_up", "warmup warmupsteps"},
    Row{"schedule.warmup_step", "warmuptokens warmupratio warmupfraction lrwarmupfraction warmupepochs",
        "counts steps"},
    Row{"schedule.decay_rate", "decayfactor lrshrink lrdecayfactor"},
    Row{"optimizer.clip",
        "gradclip clipgrad clipnorm gradientclip gradientclipping gradientclipval gradclipping maxgradnorm "
        "clipgradnorm gradnormclip maxnorm"},
    Row{"optimizer.kind", "optim optimizertype optimizername optimizerkind"},
    Row{"optimizer.weight_decay", "wd l2 l2reg decoupledweightdecay"},
    Row{"optimizer.epsilon", "eps adameps adamepsilon optimizereps"},
    Row{"optimizer.beta1", "adambeta1 beta adambetas betas momentum1"},
    Row{"optimizer.beta2", "adambeta2 momentum2"},
    Row{"optimizer.momentum", "sgdmomentum mom"},
    Row{"optimizer.shard", "zero usedistributedoptimizer zerostage fsdp"},
    Row{"training.max_step",
        "maxsteps maxiters maxiter maxupdate maxupdates trainiters trainsteps totalsteps numsteps nsteps numtrainsteps "
        "maxtrainsteps numiterations iterations iters steps trainingsteps"},
    Row{"training.max_step",
        "epochs epoch numepochs nepochs maxepoch maxepochs numtrainepochs trainepochs "
        "traintokens totaltokens trainsamples",
        "counts steps"},
    Row{"tokens", "maxnewtokens maxtokens maxlength maxlen length npredict numtokens ntokens n newtokens"},
    Row{"training.tgt_len tgt_len",
        "bptt seqlen seqlength sequencelength blocksize contextlength contextlen contextsize contextwindow ctxlen "
        "ctxsize nctx npositions maxseqlen maxseqlength maxlength maxlen tokenspersample windowsize segmentlength "
        "segmentlen segmentsize chunksize targetlength targetlen numsteps unrolllength maxpositionembeddings"},
    Row{"model.mem_len mem_len",
        "memlength memorylength memorylen memsize memorysize extlen cachelen cachelength maxmemlength contextmemory"},
    Row{"training.batch_size batch_size",
        "batch bs bsz bsize microbatchsize globalbatchsize trainbatchsize perdevicetrainbatchsize minibatchsize "
        "trainmicrobatchsizepergpu streams maxsentences perdeviceevalbatchsize evalbatchsize"},
    Row{"training.batch_chunk",
        "gradientaccumulationsteps gradaccum gradaccumsteps accumulategradbatches updatefreq "
        "gradientaccumulation accumulationsteps gradaccumulationsteps"},
    Row{"training.recompute",
        "gradientcheckpointing gradientcheckpoint gradcheckpointing usegradientcheckpointing "
        "enablegradientcheckpointing activationcheckpointing activationcheckpoint checkpointactivations "
        "checkpointnumlayers activationscheckpointmethod activationscheckpointgranularity recomputeactivations "
        "recomputegranularity recomputemethod recomputenumlayers recomputegrad remat rematpolicy useremat "
        "rematerialization"},
    Row{"training.log_interval",
        "loggingsteps logsteps logevery loginterval logfreq logeveryn logeverynsteps printevery"},
    Row{"training.precision precision", "dtype mixedprecision fp16 bf16 amp halfprecision paramsdtype floattype half"},
    Row{"training.device device", "gpu gpus usegpu cuda usecuda accelerator cudadevice ngpu gpuid"},
    Row{"training.threads threads", "numthreads nthreads ompnumthreads ompthreads workers numworkers cpus ncpus jobs"},
    Row{"training.init_from", "pretrained finetune finetunefrom restart loadcheckpoint initcheckpoint warmstart"},
    Row{"training.communicator", "distbackend distributedbackend ddpbackend backend"},
    Row{"seed", "randomseed rngseed manualseed seedall torchseed"},
    Row{"model.n_layer",
        "nlayers numlayers layers numhiddenlayers nlayer depth encoderlayers decoderlayers nblocks numblocks "
        "hiddenlayers"},
    Row{"model.n_head heads",
        "nheads numheads heads nhead numattentionheads attentionheads decoderattentionheads encoderattentionheads "
        "numhead"},
    Row{"model.d_model d_model",
        "hiddensize hiddendim hidden nembd nembed embeddim embdim emsize nhid dim dmodel modeldim width embeddingdim "
        "encoderembeddim decoderembeddim hiddenunits nhidden modelsize"},
    Row{"model.d_embed", "embeddingsize embedsize demb inputembeddim decoderinputdim dembedding"},
    Row{"model.d_head d_head", "headdim headsize kvchannels dkv sizeperhead dimhead attentionheaddim"},
    Row{"model.d_inner",
        "dff dffn ffndim ffdim feedforwarddim dimfeedforward intermediatesize ffnhiddensize ninner innerdim mlpdim "
        "encoderffnembeddim decoderffnembeddim hiddenfeatures mlpratio mlphidden"},
    Row{"model.dropout",
        "drop dropoutrate dropoutp pdrop pdropout residpdrop embdpdrop hiddendropout hiddendropoutprob "
        "residdropout reludropout activationdropout ffndropout embeddropout dropouto dropouti"},
    Row{"model.dropatt",
        "attentiondropout attndropout attnpdrop attentionprobsdropoutprob attentionpdrop dropoutatt "
        "attdropout dropattention attentiondropoutprob"},
    Row{"model.init.init_std", "initializerrange initmethodstd std weightinitstd"},
    Row{"model.init.kind", "initmethod initializer weightinit"},
    Row{"model.block.activation", "hiddenact activationfunction activationfn act nonlinearity"},
    Row{"model.block.pre_lnorm", "prenorm preln normfirst encodernormalizebefore decodernormalizebefore prelayernorm"},
    Row{"model.block.layer_norm_epsilon", "layernormepsilon layernormeps normeps rmsnormeps lneps"},
    Row{"model.position.kind",
        "attntype attentiontype positionembeddingtype positionembedding posembed posenc "
        "positionalencoding positiontype positionalembedding posemb"},
    Row{"model.position.clamp_len clamp_len", "clamplength maxrelativeposition maxdistance maxrelpos"},
    Row{"model.position.rotary_base", "ropetheta ropebase rotarytheta rotaryembbase theta"},
    Row{"model.position.rotary_scaling", "ropescaling ropefactor ropescalingfactor"},
    Row{"model.position.rotary_share", "rotarypercent rotarypct partialrotaryfactor rotarydim"},
    Row{"model.position.untie_r", "untier"},
    Row{"model.head.tie_weight",
        "tieweights tied tiewordembeddings tieembeddings sharedecoderinputoutputembed weighttying tie shareembeddings"},
    Row{"model.head.cutoffs", "adaptivesoftmaxcutoff adaptiveinputcutoff adaptivecutoffs"},
    Row{"model.head.div_val", "adaptiveinputfactor adaptivesoftmaxfactor divvalue"},
    Row{"model.head.kind", "adaptive adaptiveinput adaptivesoftmax softmaxtype"},
    Row{"model.visibility.same_length same_length", "samelen"},
    Row{"model.visibility.window window", "slidingwindow localwindow attentionwindow localattentionwindow"},
    Row{"data.path data",
        "data dataset datadir datapath datafile datasetpath datasetname traindata traindatapath "
        "trainfile corpus inputdir datasetdir trainpath"},
    Row{"data.vocab_size vocab_size", "nvocab ntoken ntokens ntokentype vocabularysize nvocabulary paddedvocabsize"},
    Row{"data.document_boundary document_boundary", "eod eodtoken resetattentionmask documentseparator"},
    Row{"evaluation.interval",
        "evalinterval evalsteps evalevery evalfreq validationsteps validateinterval validateintervalupdates "
        "valcheckinterval evaluationinterval testinterval evalstrategy evaluationstrategy"},
    Row{"evaluation.max_tokens max_tokens",
        "evaliters maxevalsteps evalbatches maxevaltokens evaltokens limitvalbatches", "counts tokens"},
    Row{"evaluation.batch_size", "evalbatch validbatchsize valbatchsize batchsizevalid"},
    Row{"evaluation.tgt_len", "evaltgtlen evalseqlen evaltgtlength"},
    Row{"evaluation.mem_len", "evalmemlen evalmemlength"},
    Row{"checkpoint.interval",
        "savesteps saveinterval saveevery saveintervalupdates checkpointinterval ckptinterval savefreq "
        "checkpointevery"},
    Row{"checkpoint.keep_last",
        "keep savetotallimit keeplastepochs keepintervalupdates maxtokeep keepcheckpoints savetopk "
        "keeplastcheckpoints"},
    Row{"checkpoint.keep_best", "loadbestmodelatend savebest alwayssavecheckpoint"},
    // Mostly flags.
    Row{"run output",
        "outputdir outdir out savedir workdir logdir saveto expdir rundir checkpointdir defaultrootdir o"},
    Row{"training.init_from checkpoint run",
        "checkpoint model ckpt ckptpath modelpath modelnameorpath modeldir checkpointpath run rundir restore "
        "restorefile load weights resumefrom"},
    Row{"samples", "numsamples numreturnsequences nsamples nsample bestof"},
    Row{"temperature", "temp"},
    Row{"top_p", "p nucleus topprob"},
    Row{"top_k", "k topn"},
    Row{"prompt", "start text inputtext"},
    Row{"prompt_file", "promptfile inputfile textfile"},
    Row{"stop", "stopsequence stopstring eostoken stoptoken"},
    Row{"input", "text textfile file files inputfile inputs source sources corpus"},
    Row{"train", "trainfile trainfiles trainpref traintext"},
    Row{"valid", "validation val validationfile valfile validfile validpref dev eval"},
    Row{"test", "testfile testpref"},
    Row{"vocab_size", "vocabsize nsymbols maxvocab"},
    Row{"split", "subset gensubset validsubset"},
    Row{"force", "overwrite overwriteoutputdir f yes"},
    Row{"quiet", "silent noprogress q s verbosity disableprogressbar"},
    Row{"dry_run", "dry simulate check"},
    Row{"ranks", "worldsize nprocs nprocpernode np nproc numprocesses"},
    Row{"from", "source format sourceformat framework"},
    Row{"args", "config configfile arguments"},
};

// Without dashes, in small letters.
std::string folded(std::string_view word) {
  std::string text;
  for (const char letter : word) {
    if (letter == '_' || letter == '-') continue;
    text += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return text;
}

// Calls `visit` with the words between spaces until it returns true.
template <typename Visit>
bool any_word(std::string_view words, const Visit& visit) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (visit(words.substr(0, end))) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

std::string MeantKey::text() const { return remark.empty() ? key : std::string(key).append(", which ").append(remark); }

std::optional<MeantKey> meant_by_others(std::string_view word, std::span<const std::string> known) {
  const std::string name = folded(word);
  for (const Row& row : kRows) {
    if (!any_word(row.names, [&](std::string_view other) { return other == name; })) continue;
    std::optional<MeantKey> meant;
    any_word(row.keys, [&](std::string_view key) {
      if (std::find(known.begin(), known.end(), key) == known.end()) return false;
      meant = MeantKey{.key = std::string(key), .remark = row.remark};
      return true;
    });
    if (meant) return meant;
  }
  return std::nullopt;
}

}  // namespace segue
